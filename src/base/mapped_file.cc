#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/regular_file.h"
#include "base/shrunk_file.h"

namespace longhaul {

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const int fd = open_regular_file(path, &size_);
  if (size_ > 0) {
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
    const int error = errno;
    ::close(fd);
    if (address == MAP_FAILED)
      user_error("{}: cannot map: {}", path.string(), std::strerror(error));
    data_ = static_cast<const std::byte*>(address);
    // Uses huge pages for data that is not in memory yet, if the file system supports it. Decode
    // reads all weights for every token, and hardware prefetching stops at the end of a page.
    ::madvise(address, size_, MADV_HUGEPAGE);
    watched_ = watch_mapping(address, size_, path.string());
  } else {
    ::close(fd);
  }
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget_mapping(watched_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      watched_(std::exchange(other.watched_, nullptr)) {}

}  // namespace longhaul
