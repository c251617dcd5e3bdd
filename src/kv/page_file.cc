#include "kv/page_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"

namespace longhaul {
namespace {

std::filesystem::path temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

/// Reads or writes `count` bytes by calls of move(), which is pread or pwrite. Returns false on
/// failure, with the reason in errno.
template <class Move>
bool move_all(size_t count, Move&& move) {
  for (size_t done = 0; done < count;) {
    const ssize_t moved = move(done, count - done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved == 0) errno = EIO;  // the file is shorter than expected
    if (moved <= 0) return false;
    done += static_cast<size_t>(moved);
  }
  return true;
}

}  // namespace

PageFile::PageFile(size_t page_bytes, std::filesystem::path folder)
    : page_bytes_(page_bytes), folder_(folder.empty() ? temporary_folder() : std::move(folder)) {}

PageFile::~PageFile() {
  if (file_ >= 0) ::close(file_);
}

void PageFile::open() {
  std::string name = (folder_ / "longhaul-kv-XXXXXX").string();
  file_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) {
    user_error("{}: cannot make a temporary file for keys and values: {}; set TMPDIR to a folder",
               folder_.string(), std::strerror(errno));
  }
  ::unlink(name.c_str());
}

uint32_t PageFile::take_slot() {
  if (!free_.empty()) {
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  owners_.push_back(0);
  free_.reserve(owners_.capacity());  // so that release() does not throw
  return static_cast<uint32_t>(owners_.size() - 1);
}

uint32_t PageFile::write(const std::byte* page) {
  const std::lock_guard lock(mutex_);
  if (file_ < 0) open();
  const uint32_t slot = take_slot();
  const bool written = move_all(page_bytes_, [&](size_t at, size_t count) {
    return ::pwrite(file_, page + at, count, static_cast<off_t>(slot * page_bytes_ + at));
  });
  if (!written) {
    const int error = errno;
    free_.push_back(slot);
    user_error(
        "{}: cannot write keys and values to a temporary file after {} MiB: {}; set TMPDIR "
        "to a folder with more room",
        folder_.string(), (owners_.size() - free_.size()) * page_bytes_ >> 20,
        std::strerror(error));
  }
  owners_[slot] = 1;
  return slot;
}

void PageFile::read(uint32_t slot, std::byte* page) const {
  // No lock is needed: slots with owners do not change, and the file remains open after the first
  // write.
  const bool all = move_all(page_bytes_, [&](size_t at, size_t count) {
    return ::pread(file_, page + at, count, static_cast<off_t>(slot * page_bytes_ + at));
  });
  if (!all) {
    user_error("{}: cannot read keys and values back from a temporary file: {}", folder_.string(),
               std::strerror(errno));
  }
}

void PageFile::share(uint32_t slot) {
  const std::lock_guard lock(mutex_);
  LH_ASSERT(owners_[slot] > 0);
  ++owners_[slot];
}

void PageFile::release(uint32_t slot) {
  const std::lock_guard lock(mutex_);
  LH_ASSERT(owners_[slot] > 0);
  if (--owners_[slot] == 0) free_.push_back(slot);
}

size_t PageFile::pages_in_use() const {
  const std::lock_guard lock(mutex_);
  return owners_.size() - free_.size();
}

}  // namespace longhaul
