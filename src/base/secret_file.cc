#include "base/secret_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"

namespace longhaul {

void check_secret_file(const std::filesystem::path& file, const std::string& where) {
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0 || !std::ifstream(file)) {
    user_error("{}: it cannot be read", where);
  }
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    user_error("{}: it belongs to another user", where);
  }
  const mode_t forbidden = status.st_uid == 0 ? 037 : 077;
  if ((status.st_mode & forbidden) != 0) {
    user_error("{}: other users may read it; run: chmod 600 {}", where, file.string());
  }
}

}  // namespace longhaul
