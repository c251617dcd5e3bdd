#pragma once
// Pages in a device's memory.

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/queue.h"
#include "kv/page_memory.h"

namespace longhaul {

/// Allocates device memory in slabs of 16 MiB and frees a slab when all of its pages are free.
class DevicePages : public PageMemory {
 public:
  /// `numbered`: pages begin at multiples of their size, rounded up to a power of two, so that
  /// kernels can address them by number. Otherwise they begin at multiples of 256 bytes, packed.
  DevicePages(Queue queue, size_t page_bytes, bool numbered);
  ~DevicePages() override;  ///< all pages must have been released
  DevicePages(const DevicePages&) = delete;
  DevicePages& operator=(const DevicePages&) = delete;

  Place place() const override { return queue_.place(); }
  size_t page_bytes() const override { return page_bytes_; }
  /// A new page holds zeros and a reused page holds old rows. Both are finite numbers, because
  /// kernels may multiply memory after the last row of a list by a probability of 0.
  std::byte* acquire() override;
  void share(std::byte* page) override;
  void release(std::byte* page) override;
  bool shared(const std::byte* page) const override;

  size_t pages_in_use() const override;
  size_t bytes_in_use() const;  ///< size of all slabs

 private:
  struct Slab {
    size_t used = 0;               ///< pages
    std::vector<uint32_t> owners;  ///< owner count of each page
  };
  void add_slab();
  Slab& slab_of(const std::byte* page) const;
  uint32_t& owners_in(Slab& slab, const std::byte* page) const;

  Queue queue_;
  const size_t page_bytes_, stride_, per_slab_;
  mutable std::mutex mutex_;
  /// By number: the address in units of kSlabBytes. Lists under eviction look up hundreds of pages
  /// per layer and token, so a look-up must not depend on the number of slabs.
  mutable std::unordered_map<uintptr_t, Slab> slabs_;
  std::vector<std::byte*> free_;
};

}  // namespace longhaul
