#include "text/json_options.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/json_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Reads the object "only_with", if there is one, into `options`.
void read_conditions(const nlohmann::json& profile, const std::string& path,
                     std::map<std::string, JsonOption>& options) {
  const auto conditions = profile.find("only_with");
  if (conditions == profile.end()) return;
  if (!conditions->is_object()) user_error("{}: only_with must be an object", path);
  for (const auto& [key, value] : conditions->items()) {
    const auto option = options.find(key);
    if (option == options.end()) {
      user_error("{}: only_with.{}: is none of its options", path, printable(key));
    }
    if (!value.is_string() || value.get<std::string>().find('=') == std::string::npos) {
      user_error("{}: only_with.{}: must be a text KEY=VALUE", path, key);
    }
    option->second.only_with = value.get<std::string>();
  }
}

}  // namespace

std::map<std::string, JsonOption> read_json_options(const std::filesystem::path& path) {
  std::map<std::string, JsonOption> options;
  const nlohmann::json profile = read_json_file(path);
  const auto found = profile.find("options");
  if (found == profile.end() || !found->is_object()) {
    user_error("{}: has no object \"options\"", path.string());
  }
  for (const auto& [key, value] : found->items()) {
    JsonOption& option = options[key];
    if (value.is_string()) {
      option.text = value.get<std::string>();
    } else if (value.is_number() || value.is_boolean()) {
      option.text = value.dump();
    } else if (value.is_object() && value.size() == 1 && value.contains("file") &&
               value["file"].is_string()) {
      const std::filesystem::path name = value["file"].get<std::string>();
      if (name.empty() || name != name.filename() || name == "..") {
        user_error("{}: options.{}: {} is no name of a file beside it", path.string(), key,
                   printable(name.string()));
      }
      option = {(path.parent_path() / name).string(), true};
    } else {
      user_error("{}: options.{}: must be a text, a number, true, false or {{\"file\": NAME}}",
                 path.string(), key);
    }
    // File names end at a zero byte for the system, and so would an error message.
    if (option.text.find('\0') != std::string::npos) {
      user_error("{}: options.{}: {} holds a zero byte", path.string(), key,
                 printable(option.text));
    }
  }
  read_conditions(profile, path.string(), options);
  return options;
}

}  // namespace longhaul
