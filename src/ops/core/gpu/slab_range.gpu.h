#pragma once
// Slabs of a GPU's memory in one range of addresses (CUDA's virtual memory management): memory is
// mapped when a slab is taken and given back with it, the addresses are reserved once.

#include <cstddef>
#include <vector>

#include "base/device_queue.h"

namespace longhaul::cuda {

class SlabRange {
 public:
  /// Addresses for at least `memory` bytes on the current device. Throws UserError.
  SlabRange(int device, size_t memory);
  ~SlabRange();
  SlabRange(const SlabRange&) = delete;
  SlabRange& operator=(const SlabRange&) = delete;

  const std::byte* base() const { return base_; }
  size_t bytes() const { return slots_ * DeviceQueue::kSlabBytes; }

  /// Throws UserError where the memory is full.
  void* acquire();
  /// Nothing on the device may use it any more.
  void release(void* slab) noexcept;

 private:
  int device_;
  std::byte* base_ = nullptr;
  size_t slots_ = 0, next_ = 0;  ///< slots from `next_` on were never taken
  std::vector<size_t> free_;
  std::vector<unsigned long long> handles_;  ///< per slot: of its memory
};

}  // namespace longhaul::cuda
