#pragma once
// Copies keys and values of any segment to consecutive rows of bf16 pages, with rotation if needed.

#include "ops/attention/attend_kernels.gpu.h"

namespace longhaul::cuda {

/// Slot n of the segment goes to row n % 64 of page `to`[n / 64]. Slots without a key become zeros.
struct GatherRecord {
  SegmentRecord keys;
  const int32_t* device_count;  ///< number of keys; null: the count in `keys` holds
  const int32_t* count_after;   ///< number of keys after the segment, by which its position is
                                ///< reduced; null: none
  std::byte* const* to;         ///< device array of pages
  int32_t first_block;          ///< one thread block per page
  int32_t unused;
};

/// Returns whether gather_keys() supports heads of `head_dim` elements: 64, 80, 96, 112, 128 or
/// 256.
bool can_gather(int head_dim);

/// Queues the copies of `count` records in device memory. `blocks` is the total number of pages.
void gather_keys(CUstream_st* stream, const GatherRecord* records, int count, int blocks,
                 int head_dim, const RotationTable& rotations);

}  // namespace longhaul::cuda
