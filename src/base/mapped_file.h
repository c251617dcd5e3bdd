#pragma once
// MappedFile maps a whole file read-only. Processes that map the same file share its pages. A page
// is read from disk on first use.

#include <cstddef>
#include <filesystem>
#include <span>

namespace longhaul {

struct WatchedMapping;

/// A mapped file. If the file is truncated later, reading the missing part ends the program with a
/// message that names the file (base/shrunk_file.h).
class MappedFile {
 public:
  /// Throws UserError that names the file and the reason if the file cannot be opened or mapped, or
  /// is a folder.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  WatchedMapping* watched_ = nullptr;
};

}  // namespace longhaul
