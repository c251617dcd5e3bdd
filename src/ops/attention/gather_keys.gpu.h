#pragma once
// Keys and values of any segment, rotated where they must be, as stretches of bf16 pages.

#include "ops/attention/attend_kernels.gpu.h"

namespace longhaul::cuda {

/// Slot n of the segment goes to row n % 64 of page `to`[n / 64]; slots without a key become zeros.
struct GatherRecord {
  SegmentRecord keys;
  const int32_t* live;    ///< how many keys there are; null: as many as `keys` says
  const int32_t* behind;  ///< how many keys follow: they move back by as many; null: none
  std::byte* const* to;   ///< pages, listed in device memory
  int32_t first_block;    ///< a block for every page
  int32_t unused;
};

/// Whether there is a kernel: heads of 64, 80, 96, 112, 128 and 256 numbers.
bool can_gather(int head_dim);

/// `blocks`: pages in all. Records lie in device memory.
void gather_keys(CUstream_st* stream, const GatherRecord* records, int count, int blocks,
                 int head_dim, const RotationTable& rotations);

}  // namespace longhaul::cuda
