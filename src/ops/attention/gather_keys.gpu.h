#pragma once
// Copies the keys and values of a segment to consecutive rows of bf16 pages, converted and rotated
// as necessary.

#include "ops/attention/attend_kernels.gpu.h"

namespace longhaul::cuda {

/// One segment to gather. Slot n of the segment (SegmentRecord) is copied to row n % 64 of page
/// to[n / 64]. Slots without a key become zeros.
struct GatherRecord {
  SegmentRecord keys;
  const int32_t* device_count;  ///< number of keys in device memory; null: the number in `keys` is
                                ///< valid
  /// Number of keys after the segment, in device memory, which is subtracted from the segment's
  /// position; null: nothing is subtracted.
  const int32_t* count_after;
  std::byte* const* to;  ///< device array of destination pages
  int32_t first_block;   ///< index of the first thread block; there is one thread block per
                         ///< destination page
  int32_t unused;
};

/// Returns whether gather_keys() supports heads of `head_dim` elements. It supports 64, 80, 96,
/// 112, 128 and 256.
bool can_gather(int head_dim);

/// Queues the copies of `count` records. The records are in device memory. `blocks` is the number
/// of destination pages of all records.
void gather_keys(CUstream_st* stream, const GatherRecord* records, int count, int blocks,
                 int head_dim, const RotationTable& rotations);

}  // namespace longhaul::cuda
