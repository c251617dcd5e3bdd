#include "format/json_file.h"

#include "base/error.h"
#include "base/mapped_file.h"

namespace longhaul {
namespace {

nlohmann::json read_any(const std::filesystem::path& path) {
  constexpr size_t kLargest = 64 << 20;
  constexpr int kDeepest = 64;
  const MappedFile file(path);
  const auto bytes = file.bytes();
  if (bytes.size() > kLargest) {
    user_error("{}: {} bytes: too large for a settings file", path.string(), bytes.size());
  }
  const auto check_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDeepest) user_error("{}: nested deeper than {}", path.string(), kDeepest);
    return true;
  };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    return nlohmann::json::parse(text, check_depth);
  } catch (const nlohmann::json::parse_error& error) {
    user_error("{}: is no JSON (byte {})", path.string(), error.byte);
  } catch (const nlohmann::json::out_of_range&) {
    user_error("{}: has a number beyond f64", path.string());
  }
}

}  // namespace

nlohmann::json read_json_file(const std::filesystem::path& path) {
  nlohmann::json document = read_any(path);
  if (!document.is_object()) user_error("{}: is no JSON object", path.string());
  return document;
}

nlohmann::json read_json_list(const std::filesystem::path& path) {
  nlohmann::json document = read_any(path);
  if (!document.is_array()) user_error("{}: is no JSON list", path.string());
  return document;
}

}  // namespace longhaul
