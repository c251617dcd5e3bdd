#pragma once
// The interface between block_mass.cc and the kernels of the instruction-set levels. A flat row is
// the query of one head of one query row.

#include "ops/attention/attention_kernels.h"

namespace longhaul {

/// Some rows of a task, and keys [key_begin, key_begin + key_count) of its only segment. key_begin
/// is a multiple of kTileKeys. `sums` points to the sum of flat row 0 for the block of the first
/// key, and `tops` to the largest logit of flat row 0 in the tile of the first key.
struct BlockMassUnit {
  AttendUnit rows;
  int block;
  float* sums;  ///< sum of 2^(logit - top) over each block; flat rows begin `sums_stride` apart
  /// Largest base-2 logit in each tile of kTileKeys keys. Flat rows begin `tops_stride` apart.
  float* tops;
  int64_t sums_stride, tops_stride;
};

struct BlockMassKernels {
  size_t (*scratch_bytes)(const HostCall& call, int flat_rows);
  void (*run)(const BlockMassUnit& unit, std::byte* scratch);
};

LH_PER_ISA(BlockMassKernels, kBlockMassKernels)

}  // namespace longhaul
