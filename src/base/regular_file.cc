#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace longhaul {

int open_regular_file(const std::filesystem::path& path, size_t* bytes) {
  // O_NONBLOCK: opening a pipe would otherwise wait for a writer. It has no effect on regular
  // files.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  // ENXIO: a socket
  if (file < 0 && errno == ENXIO) user_error("{}: not a regular file", path.string());
  if (file < 0) user_error("{}: cannot open: {}", path.string(), std::strerror(errno));
  struct stat info = {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(file);
    user_error("{}: not a regular file", path.string());
  }
  *bytes = static_cast<size_t>(info.st_size);
  return file;
}

}  // namespace longhaul
