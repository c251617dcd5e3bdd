#include "cli/pull_folder.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/units.h"
#include "engine/model_names.h"

namespace longhaul {

namespace fs = std::filesystem;

fs::path make_cache_folder(bool system) {
  fs::path folder = system ? system_model_folder() : model_cache_folder();
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && access(folder.c_str(), W_OK) != 0) error = {errno, std::generic_category()};
  if (error) {
    user_error("{}: no models can be put there: {}{}", folder.string(), error.message(),
               system ? " (--system needs the rights to write there)"
                      : "; XDG_CACHE_HOME names another cache folder");
  }
  return folder;
}

void check_space(const fs::path& folder, size_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= bytes) return;
  user_error("{}: {} are free, about {} are needed", folder.string(), format_bytes(space.available),
             format_bytes(bytes));
}

}  // namespace longhaul
