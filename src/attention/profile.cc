#include "attention/profile.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "text/json_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

std::map<std::string, std::string> read_options(const std::filesystem::path& path) {
  std::map<std::string, std::string> options;
  const nlohmann::json profile = read_json_file(path);
  const auto found = profile.find("options");
  if (found == profile.end() || !found->is_object()) {
    user_error("{}: has no object \"options\"", path.string());
  }
  for (const auto& [key, value] : found->items()) {
    if (value.is_string()) {
      options[key] = value.get<std::string>();
    } else if (value.is_number() || value.is_boolean()) {
      options[key] = value.dump();
    } else if (value.is_object() && value.size() == 1 && value.contains("file") &&
               value["file"].is_string()) {
      const std::filesystem::path name = value["file"].get<std::string>();
      if (name.empty() || name != name.filename() || name == "..") {
        user_error("{}: options.{}: {} is no name of a file beside it", path.string(), key,
                   printable(name.string()));
      }
      options[key] = (path.parent_path() / name).string();
    } else {
      user_error("{}: options.{}: must be a text, a number, true, false or {{\"file\": NAME}}",
                 path.string(), key);
    }
  }
  return options;
}

}  // namespace

std::filesystem::path profile_path(const std::string& prefix, std::string_view method) {
  return prefix + std::string(method) + ".json";
}

std::map<std::string, std::string> read_profile(const std::string& prefix,
                                                std::string_view method) {
  if (prefix.empty()) return {};
  const std::filesystem::path path = profile_path(prefix, method);
  if (!is_there(path)) return {};
  try {
    return read_options(path);
  } catch (const UserError& problem) {
    user_error("--attention {}: {}", method, problem.what());
  }
}

}  // namespace longhaul
