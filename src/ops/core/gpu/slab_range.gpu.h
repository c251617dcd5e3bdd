#pragma once
// Slabs of a GPU's memory in one address range (CUDA's virtual memory management). Addresses are
// reserved once. Memory is mapped when a slab is acquired and unmapped when it is released.

#include <cstddef>
#include <vector>

#include "base/device_queue.h"

namespace longhaul::cuda {

class SlabRange {
 public:
  /// Reserves addresses for at least `memory` bytes on the current device. Throws UserError.
  SlabRange(int device, size_t memory);
  ~SlabRange();
  SlabRange(const SlabRange&) = delete;
  SlabRange& operator=(const SlabRange&) = delete;

  const std::byte* base() const { return base_; }
  size_t bytes() const { return slots_ * DeviceQueue::kSlabBytes; }

  /// Throws UserError if the memory is full.
  void* acquire();
  /// The device must no longer use the slab.
  void release(void* slab) noexcept;

 private:
  int device_;
  std::byte* base_ = nullptr;
  size_t slots_ = 0, next_ = 0;  ///< slots from `next_` on were never used
  std::vector<size_t> free_;
  std::vector<unsigned long long> handles_;  ///< memory handle of each slot
};

}  // namespace longhaul::cuda
