#pragma once
// Interface between block_mass.cc and the kernels of an instruction-set level. A flat row is a pair
// of a row and a query head (ops/attention/attention_kernels.h).

#include "ops/attention/attention_kernels.h"

namespace longhaul {

/// Rows of a task and keys [key_begin, key_begin + key_count) of its only segment. key_begin is a
/// multiple of kTileKeys. For flat row 0, `sums` points to the block of the first key and `tops` to
/// its tile.
struct BlockMassUnit {
  AttendUnit rows;
  int block;
  float* sums;  ///< sum of 2^(logit - top) over each block; flat rows are `sums_stride` apart
  float* tops;  ///< largest logit of each kTileKeys keys, base 2; flat rows are `tops_stride` apart
  int64_t sums_stride, tops_stride;
};

struct BlockMassKernels {
  size_t (*scratch_bytes)(const HostCall& call, int flat_rows);
  void (*run)(const BlockMassUnit& unit, std::byte* scratch);
};

LH_PER_ISA(BlockMassKernels, kBlockMassKernels)

}  // namespace longhaul
