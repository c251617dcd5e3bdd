#pragma once
// PageFile is a temporary file to which a KV store offloads pages of rows. The file has no name and
// disappears when the process ends. The content of a stored page does not change. A stored page may
// have several owners (stores). The file is in the folder that TMPDIR names, or else in /tmp.
// Offloading saves memory only if this folder is on a disk.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <vector>

namespace longhaul {

/// Several threads may use a PageFile.
class PageFile {
 public:
  /// The first write() creates the file. If `folder` is empty, the file is in the system's folder
  /// for temporary files.
  explicit PageFile(size_t page_bytes, std::filesystem::path folder = {});
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  /// Stores a page and returns its slot, which then has one owner. Throws UserError, without
  /// changes, if the folder does not exist or the disk is full.
  uint32_t write(const std::byte* page);
  /// Reads the page in a slot. Throws UserError if the disk fails.
  void read(uint32_t slot, std::byte* page) const;

  void share(uint32_t slot);    ///< adds an owner
  void release(uint32_t slot);  ///< removes an owner; write() reuses slots without owners
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
