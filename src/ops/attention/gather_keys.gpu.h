#pragma once
// Copies the keys and values of any segment to consecutive rows of bf16 pages. Keys are rotated if
// necessary.

#include "ops/attention/attend_kernels.gpu.h"

namespace longhaul::cuda {

/// One segment to gather. Slot n of the segment is copied to row n % 64 of page to[n / 64]. Slots
/// without a key become zeros.
struct GatherRecord {
  SegmentRecord keys;
  const int32_t* device_count;  ///< number of keys; null: the number in `keys` is valid
  /// Number of keys after the segment, which is subtracted from the segment's position; null: none.
  const int32_t* count_after;
  std::byte* const* to;  ///< device array of destination pages
  int32_t first_block;   ///< index of the first thread block; each page has one
  int32_t unused;
};

/// Returns whether gather_keys() supports heads of `head_dim` elements. It supports 64, 80, 96,
/// 112, 128 and 256.
bool can_gather(int head_dim);

/// Queues the copies of `count` records, which are in device memory. `blocks` is the total number
/// of pages.
void gather_keys(CUstream_st* stream, const GatherRecord* records, int count, int blocks,
                 int head_dim, const RotationTable& rotations);

}  // namespace longhaul::cuda
