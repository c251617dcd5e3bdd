#include "text/json_file.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/mapped_file.h"
#include "text/json_text.h"

namespace longhaul {
namespace {

/// Writes null in place of numbers that are not finite, outside of strings.
std::string with_null_for_infinity(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_text = false;
  for (size_t at = 0; at < text.size();) {
    size_t length = 0;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (!in_text && text.substr(at).starts_with(word)) length = word.size();
    }
    if (length > 0) {
      out += "null";
      at += length;
      continue;
    }
    const bool escapes = in_text && text[at] == '\\' && at + 1 < text.size();
    if (text[at] == '"') in_text = !in_text;
    out.append(text.substr(at, escapes ? 2 : 1));
    at += escapes ? 2 : 1;
  }
  return out;
}

nlohmann::json read_any(const std::filesystem::path& path, bool of_python = false) {
  constexpr int kDeepest = 64;
  const MappedFile file(path);
  const auto bytes = file.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    constexpr size_t kLargestCopied = size_t{64} << 20;  // parse_json() refuses larger texts
    return of_python && text.size() <= kLargestCopied
               ? parse_json(with_null_for_infinity(text), kDeepest)
               : parse_json(text, kDeepest);
  } catch (const UserError& problem) {
    user_error("{}: {}", path.string(), problem.what());
  }
}

}  // namespace

nlohmann::json read_json_file(const std::filesystem::path& path) {
  nlohmann::json document = read_any(path);
  if (!document.is_object()) user_error("{}: is no JSON object", path.string());
  return document;
}

nlohmann::json read_python_json_file(const std::filesystem::path& path) {
  nlohmann::json document = read_any(path, true);
  if (!document.is_object()) user_error("{}: is no JSON object", path.string());
  return document;
}

nlohmann::json read_json_list(const std::filesystem::path& path) {
  nlohmann::json document = read_any(path);
  if (!document.is_array()) user_error("{}: is no JSON list", path.string());
  return document;
}

}  // namespace longhaul
