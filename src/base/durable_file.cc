#include "base/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/part_file.h"
#include "base/paths.h"
#include "base/shrunk_file.h"

namespace longhaul {
namespace {

/// Closes the file on destruction.
class OpenFile {
 public:
  OpenFile(const std::filesystem::path& path, int flags)
      : file_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (file_ < 0) refuse_write(path);
  }
  ~OpenFile() { close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

void sync(int (*call)(int), int file, const std::filesystem::path& path) {
  int result = 0;
  while ((result = call(file)) != 0 && errno == EINTR) {
  }
  // Files that cannot be synced at all (on some networked and user-space file systems) give EINVAL.
  if (result != 0 && errno != EINVAL && errno != ENOTSUP) refuse_write(path);
}

}  // namespace

void refuse_write(const std::filesystem::path& path) {
  user_error("{}: cannot be written: {}", path.string(), std::strerror(errno));
}

void write_all(int file, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EFAULT) refuse_shrunk_file(text.data());
    if (n <= 0) refuse_write(path);
    text.remove_prefix(static_cast<size_t>(n));
  }
}

void sync_file(int file, const std::filesystem::path& path) { sync(fdatasync, file, path); }

void sync_folder(const std::filesystem::path& folder) {
  const std::filesystem::path named = folder.empty() ? std::filesystem::path(".") : folder;
  const OpenFile opened(named, O_RDONLY | O_DIRECTORY);
  sync(fsync, opened.get(), named);
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  std::optional<PartFile> part = PartFile::create(path);
  if (!part) refuse_write(path);
  write_all(part->get(), text, path);
  sync_file(part->get(), path);
  if (!part->put_in_place(path)) refuse_write(path);
  sync_folder(path.parent_path());
}

void expect_writable(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  const char* reason = "";
  if (access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) != 0) {
    if (errno == ENOENT) reason = ": no such folder";
  } else if (is_folder(path)) {
    reason = ": is a folder";
  } else {
    return;
  }
  user_error("{}: cannot be written{}", path.string(), reason);
}

}  // namespace longhaul
