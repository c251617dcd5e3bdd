#pragma once
// Copies keys and values of any segment to bf16 pages as stretches, with rotation if needed.

#include "ops/attention/attend_kernels.gpu.h"

namespace longhaul::cuda {

/// Slot n of the segment goes to row n % 64 of page `to`[n / 64]. Slots without a key become zeros.
struct GatherRecord {
  SegmentRecord keys;
  const int32_t* device_count;  ///< number of keys; null: the count in `keys` holds
  const int32_t* count_after;   ///< number of keys after it, by which it moves back; null: none
  std::byte* const* to;         ///< device array of pages
  int32_t first_block;          ///< one thread block per page
  int32_t unused;
};

/// Whether there is a kernel: for heads of 64, 80, 96, 112, 128 and 256 elements.
bool can_gather(int head_dim);

/// `blocks` is the total number of pages. Records are in device memory.
void gather_keys(CUstream_st* stream, const GatherRecord* records, int count, int blocks,
                 int head_dim, const RotationTable& rotations);

}  // namespace longhaul::cuda
