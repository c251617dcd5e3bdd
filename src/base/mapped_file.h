#pragma once
// A whole file mapped read-only. Pages are shared with every other process that maps it and are
// read from disk when first touched.

#include <cstddef>
#include <filesystem>
#include <span>

namespace longhaul {

struct WatchedMapping;

/// Reading a mapping of a file that somebody has cut short ends the program with a line that names
/// the file (base/shrunk_file.h): there is nothing to go on with.
class MappedFile {
 public:
  /// Throws UserError (file, reason) when it cannot be opened, is a folder or cannot be mapped.
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
