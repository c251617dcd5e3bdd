#pragma once
// The slower tier of a KV store: pages of rows in a temporary file that has no name, so that it is
// gone when the process is. Pages are written once and counted like those of the pool. The file
// lies where TMPDIR points (else /tmp): on a disk it costs no memory that others need.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <vector>

namespace longhaul {

/// May be used from several threads.
class PageFile {
 public:
  /// The file is made at the first write. `folder` empty: the system's folder for temporary files.
  explicit PageFile(size_t page_bytes, std::filesystem::path folder = {});
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  /// Stores a page; returns its slot, which has one owner. Throws UserError (no such folder, disk
  /// full); nothing has changed then.
  uint32_t write(const std::byte* page);
  /// Throws UserError when the disk fails.
  void read(uint32_t slot, std::byte* page) const;

  void share(uint32_t slot);    ///< one more owner
  void release(uint32_t slot);  ///< one owner less; a slot without owners is written again
  size_t pages_in_use() const;

 private:
  void open();
  uint32_t take_slot();

  const size_t page_bytes_;
  const std::filesystem::path folder_;
  mutable std::mutex mutex_;
  int file_ = -1;
  std::vector<uint32_t> owners_;  ///< per slot
  std::vector<uint32_t> free_;    ///< slots without owners
};

}  // namespace longhaul
