#include "text/json_file.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/mapped_file.h"
#include "text/json_text.h"

namespace longhaul {
namespace {

nlohmann::json read_any(const std::filesystem::path& path) {
  constexpr int kDeepest = 64;
  const MappedFile file(path);
  const auto bytes = file.bytes();
  try {
    return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, kDeepest);
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

nlohmann::json read_json_list(const std::filesystem::path& path) {
  nlohmann::json document = read_any(path);
  if (!document.is_array()) user_error("{}: is no JSON list", path.string());
  return document;
}

}  // namespace longhaul
