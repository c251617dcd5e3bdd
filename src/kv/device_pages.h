#pragma once
// Allocates the pages of a KV store in device memory.

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/queue.h"
#include "kv/page_memory.h"

namespace longhaul {

/// Allocates device memory in slabs of 16 MiB. A slab is freed when all its pages are free.
class DevicePages : public PageMemory {
 public:
  /// If `numbered` is true, pages begin at multiples of their size, rounded up to a power of two.
  /// Kernels can then address pages by number. If it is false, pages are packed and begin at
  /// multiples of 256 bytes.
  DevicePages(Queue queue, size_t page_bytes, bool numbered);
  ~DevicePages() override;  ///< requires that all pages have been released
  DevicePages(const DevicePages&) = delete;
  DevicePages& operator=(const DevicePages&) = delete;

  Place place() const override { return queue_.place(); }
  size_t page_bytes() const override { return page_bytes_; }
  /// Returns a page that holds only finite numbers: a new page holds zeros, and a reused page holds
  /// old rows. This is necessary because kernels may multiply the unused end of a list's last page
  /// by a probability of 0.
  std::byte* acquire() override;
  void share(std::byte* page) override;
  void release(std::byte* page) override;
  void acquire_all(int64_t count, std::vector<std::byte*>& pages) override;
  void share_all(std::span<std::byte* const> pages) override;
  void release_all(std::span<std::byte* const> pages) override;
  bool shared(const std::byte* page) const override;

  size_t pages_in_use() const override;
  size_t bytes_in_use() const;  ///< returns the total size of all slabs in bytes

 private:
  struct Slab {
    size_t used = 0;               ///< number of pages in use
    std::vector<uint32_t> owners;  ///< owner count of each page
    bool leaving = false;          ///< whether the slab is being released
  };
  /// The slab that was looked up last, and its number. Adjacent pages of a list are often in the
  /// same slab.
  struct LastSlab {
    uintptr_t number = 0;
    Slab* slab = nullptr;
  };
  void add_slab();
  std::byte* acquire_one();
  void release_slabs(std::span<const uintptr_t> emptied);
  Slab& slab_of(const std::byte* page, LastSlab& last) const;
  Slab& slab_of(const std::byte* page) const;
  uint32_t& owners_in(Slab& slab, const std::byte* page) const;

  Queue queue_;
  const size_t page_bytes_, stride_, per_slab_;
  mutable std::mutex mutex_;
  /// The key is the address of a slab in units of kSlabBytes. Evictions look up hundreds of pages
  /// per layer and token, so the time of a look-up must not depend on the number of slabs.
  mutable std::unordered_map<uintptr_t, Slab> slabs_;
  std::vector<std::byte*> free_;
  size_t used_ = 0;  ///< number of pages in use
};

}  // namespace longhaul
