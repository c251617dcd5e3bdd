#pragma once
// The offload file of a KV store: pages of rows in a temporary file without a name, which therefore
// disappears with the process. Pages are written once and have owner counts like those of the pool.
// The file is in the folder TMPDIR (else /tmp). If that folder is on a disk, the file uses no
// memory.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <vector>

namespace longhaul {

/// May be used by several threads.
class PageFile {
 public:
  /// Creates the file at the first write. An empty `folder` means the system's folder for temporary
  /// files.
  explicit PageFile(size_t page_bytes, std::filesystem::path folder = {});
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  /// Stores a page and returns its slot, which has one owner. Throws UserError (no such folder,
  /// disk full) without changes.
  uint32_t write(const std::byte* page);
  /// Throws UserError if the disk fails.
  void read(uint32_t slot, std::byte* page) const;

  void share(uint32_t slot);    ///< adds an owner
  void release(uint32_t slot);  ///< removes an owner; a slot without owners is reused
  size_t pages_in_use() const;

 private:
  void open();
  uint32_t take_slot();

  const size_t page_bytes_;
  const std::filesystem::path folder_;
  mutable std::mutex mutex_;
  int file_ = -1;
  std::vector<uint32_t> owners_;  ///< owner count of each slot
  std::vector<uint32_t> free_;    ///< slots without owners
};

}  // namespace longhaul
