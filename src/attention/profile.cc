#include "attention/profile.h"

#include "base/error.h"
#include "base/paths.h"
#include "text/json_options.h"

namespace longhaul {

std::filesystem::path profile_path(const std::string& prefix, std::string_view method) {
  return prefix + std::string(method) + ".json";
}

std::map<std::string, JsonOption> read_profile(const std::string& prefix, std::string_view method) {
  if (prefix.empty()) return {};
  const std::filesystem::path path = profile_path(prefix, method);
  if (!is_there(path)) return {};
  try {
    return read_json_options(path);
  } catch (const UserError& problem) {
    user_error("--attention {}: {}", method, problem.what());
  }
}

}  // namespace longhaul
