#include "cli/pull_folder.h"

#include <system_error>

#include "base/error.h"
#include "base/units.h"
#include "engine/model_names.h"

namespace longhaul {

namespace fs = std::filesystem;

fs::path make_cache_folder() {
  fs::path folder = model_cache_folder();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) user_error("{}: {}", folder.string(), error.message());
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
