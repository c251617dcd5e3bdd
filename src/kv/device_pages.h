#pragma once
// Pages in a device's memory.

#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/queue.h"
#include "kv/page_memory.h"

namespace longhaul {

/// Takes memory from the device in slabs of 16 MiB and gives a slab back when all of its pages are
/// free.
class DevicePages : public PageMemory {
 public:
  /// `numbered`: pages begin at multiples of their size, rounded up to a power of two, so that
  /// kernels can address them by number. Else at multiples of 256 bytes, one behind the other.
  DevicePages(Queue queue, size_t page_bytes, bool numbered);
  ~DevicePages() override;  ///< all pages must have been released
  DevicePages(const DevicePages&) = delete;
  DevicePages& operator=(const DevicePages&) = delete;

  Place place() const override { return queue_.place(); }
  size_t page_bytes() const override { return page_bytes_; }
  /// New ones hold zeros, used ones rows: numbers, which kernels may multiply with a probability of
  /// 0 behind the last row of a list.
  std::byte* acquire() override;
  void share(std::byte* page) override;
  void release(std::byte* page) override;
  bool shared(const std::byte* page) const override;

  size_t bytes_in_use() const;  ///< of slabs

 private:
  struct Slab {
    void* memory = nullptr;
    size_t used = 0;  ///< pages
  };
  struct Page {
    uint32_t owners = 0;
    uint32_t slab = 0;
  };
  void add_slab();

  Queue queue_;
  const size_t page_bytes_, stride_, per_slab_;
  mutable std::mutex mutex_;
  std::vector<Slab> slabs_;
  std::vector<std::byte*> free_;
  std::unordered_map<const std::byte*, Page> pages_;  ///< of all slabs
};

}  // namespace longhaul
