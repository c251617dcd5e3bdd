#pragma once
// PageFile is the offload file of a KV store. It stores pages of rows in a temporary file without a
// name, which disappears when the process ends. A page is written once, and owners are counted as
// in PagePool. The file is in the folder TMPDIR, or else in /tmp. The file saves memory only if
// this folder is on a disk.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <vector>

namespace longhaul {

/// Several threads may use a PageFile.
class PageFile {
 public:
  /// The first write creates the file. An empty `folder` means the system's folder for temporary
  /// files.
  explicit PageFile(size_t page_bytes, std::filesystem::path folder = {});
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  /// Stores a page and returns its slot, which then has one owner. Throws UserError if the folder
  /// does not exist or the disk is full; nothing is changed then.
  uint32_t write(const std::byte* page);
  /// Reads the page in a slot. Throws UserError if the disk fails.
  void read(uint32_t slot, std::byte* page) const;

  void share(uint32_t slot);    ///< adds an owner
  void release(uint32_t slot);  ///< removes an owner; a slot without owners can be reused
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
