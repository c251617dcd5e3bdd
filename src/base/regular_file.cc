#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/durable_file.h"
#include "base/error.h"

namespace longhaul {
namespace {

/// Closes with the object.
class OpenedFile {
 public:
  explicit OpenedFile(int file) : file_(file) {}
  ~OpenedFile() {
    if (file_ >= 0) close(file_);
  }
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

}  // namespace

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

std::string read_regular_file(const std::filesystem::path& path, size_t most) {
  size_t expected = 0;
  const OpenedFile file(open_regular_file(path, &expected));
  std::string text;
  // The size is that of the moment: a file may grow while it is read, and those of /proc have none.
  for (;;) {
    if (text.size() > most || expected > most) {
      user_error("{}: has {} bytes; at most {} are read", path.string(),
                 std::max(text.size(), expected), most);
    }
    const size_t have = text.size();
    text.resize(std::max(expected, have) + 1);
    const ssize_t got = read(file.get(), text.data() + have, text.size() - have);
    text.resize(have + static_cast<size_t>(std::max<ssize_t>(0, got)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) user_error("{}: cannot be read: {}", path.string(), std::strerror(errno));
    if (got == 0) return text;
  }
}

std::optional<std::string> read_if_regular(const std::filesystem::path& path, size_t most) {
  try {
    return read_regular_file(path, most);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

int open_own_file(const std::filesystem::path& path) {
  OpenedFile file(
      open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666));
  if (file.get() < 0 && (errno == ELOOP || errno == ENXIO))
    user_error("{}: not a regular file", path.string());
  if (file.get() < 0) refuse_write(path);
  struct stat info = {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    user_error("{}: not a regular file", path.string());
  if (info.st_nlink > 1) user_error("{}: has other names too", path.string());
  return file.release();
}

}  // namespace longhaul
