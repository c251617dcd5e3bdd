#pragma once
// A whole file mapped read-only. Pages are shared with every other process that maps it, and are
// read from disk on first use.

#include <cstddef>
#include <filesystem>
#include <span>

namespace longhaul {

struct WatchedMapping;

/// A mapped file. If the file is truncated later, reading the mapping ends the program with a line
/// that names the file (base/shrunk_file.h).
class MappedFile {
 public:
  /// Throws UserError (file, reason) if the file cannot be opened, is a folder or cannot be mapped.
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
