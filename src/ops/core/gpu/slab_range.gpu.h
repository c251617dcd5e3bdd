#pragma once
// Allocates the slabs of a GPU in one address range, with CUDA's virtual memory management. A slab
// is DeviceQueue::kSlabBytes of memory for pages of keys and values. The constructor reserves the
// addresses. Memory is mapped when a slab is acquired and unmapped when it is released.

#include <cstddef>
#include <vector>

#include "base/device_queue.h"

namespace longhaul::cuda {

class SlabRange {
 public:
  /// Reserves addresses for at least `memory` bytes on the current device. Throws UserError on
  /// failure.
  SlabRange(int device, size_t memory);
  ~SlabRange();
  SlabRange(const SlabRange&) = delete;
  SlabRange& operator=(const SlabRange&) = delete;

  const std::byte* base() const { return base_; }
  size_t bytes() const { return slots_ * DeviceQueue::kSlabBytes; }

  /// Returns a new slab. Throws UserError if the device memory is full.
  void* acquire();
  /// Frees a slab, which the device must no longer use.
  void release(void* slab) noexcept;

 private:
  int device_;
  std::byte* base_ = nullptr;
  size_t slots_ = 0, next_ = 0;  ///< a slot is the address range of one slab; slots from `next_` on
                                 ///< have never been used
  std::vector<size_t> free_;
  std::vector<unsigned long long> handles_;  ///< memory handle of each slot
};

}  // namespace longhaul::cuda
