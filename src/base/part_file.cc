#include "base/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>

namespace longhaul {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 100;

uint32_t random_number() {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number)) return number;
  static uint32_t counter = 0;  // O_EXCL detects names that are taken
  return static_cast<uint32_t>(getpid()) * 2654435761u + ++counter;
}

/// Waits for processes that check whether the part is left over. Returns false if one removed it.
bool lock_own(int file) {
  while (flock(file, LOCK_EX) != 0) {
    // the file system has no locks, so no process removes parts there
    if (errno != EINTR) return true;
  }
  struct stat info = {};
  return fstat(file, &info) == 0 && info.st_nlink > 0;
}

/// Removes a part that no process is writing; a writer would hold its lock.
void remove_left_over(const fs::path& part) {
  const int file = open(part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  struct stat info = {};
  const bool own = fstat(file, &info) == 0 && info.st_uid == geteuid();
  const bool folder = S_ISDIR(info.st_mode);
  if (own && (folder || S_ISREG(info.st_mode)) && flock(file, LOCK_EX | LOCK_NB) == 0) {
    std::error_code ignored;
    if (folder) {
      fs::remove_all(part, ignored);
    } else {
      unlink(part.c_str());
    }
  }
  close(file);
}

void remove_left_overs(const fs::path& target) {
  const std::string begins = target.filename().string() + ".";
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_part = name.size() == begins.size() - 1 + kPartNameBytes &&
                         name.starts_with(begins) && name.ends_with(kPartSuffix);
    if (is_part) remove_left_over(at->path());
  }
}

fs::path name_of_part(const fs::path& target) {
  fs::path path = target;
  path += fmt::format(".{:08x}{}", random_number(), kPartSuffix);
  return path;
}

}  // namespace

std::optional<PartFile> PartFile::create(const fs::path& target) {
  remove_left_overs(target);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fs::path path = name_of_part(target);
    const int file =
        open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) return std::nullopt;
    if (lock_own(file)) return PartFile(file, std::move(path));
    close(file);
  }
  errno = EEXIST;
  return std::nullopt;
}

PartFile::~PartFile() {
  if (!path_.empty()) unlink(path_.c_str());  // while the lock is held, so the name is still ours
  if (file_ >= 0) close(file_);
}

bool PartFile::put_in_place(const fs::path& target) {
  if (std::rename(path_.c_str(), target.c_str()) != 0) return false;
  path_.clear();
  return true;
}

std::optional<PartFolder> PartFolder::create(const fs::path& target) {
  remove_left_overs(target);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fs::path path = name_of_part(target);
    if (mkdir(path.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      return std::nullopt;
    }
    const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return std::nullopt;
    if (lock_own(folder)) return PartFolder(folder, std::move(path));
    close(folder);
  }
  errno = EEXIST;
  return std::nullopt;
}

PartFolder::~PartFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (folder_ >= 0) close(folder_);
}

bool PartFolder::put_in_place(const fs::path& target) {
  int failed = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE);
  // Some file systems cannot do this in one step.
  if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
    struct stat info = {};
    if (lstat(target.c_str(), &info) == 0) {
      errno = EEXIST;
      return false;
    }
    failed = std::rename(path_.c_str(), target.c_str());
  }
  if (failed != 0) return false;
  path_.clear();
  return true;
}

}  // namespace longhaul
