#pragma once
// The interface between column_sums.cc and the kernels of the instruction-set levels. A unit is the
// part of a task that one thread computes (AttendUnit).

#include "ops/attention/attention_kernels.h"

namespace longhaul {

/// Number of keys for which one thread computes column sums at a time. They form several packed
/// blocks, so that each tile of query rows is converted once for all of them.
inline constexpr int kColumnBlocks = 4;
inline constexpr int kColumnKeys = kColumnBlocks * kTileKeys;

/// Keys [key_begin, key_begin + key_count) of the unit's only segment. key_count is at most
/// kColumnKeys.
struct ColumnUnit {
  AttendUnit rows;
  float* sums;     ///< [key_count]
  float* squares;  ///< [key_count]; may be null
  /// If not null, sums over heads are computed instead of column sums: the sum of the probabilities
  /// over the unit's heads is added to map[row * map_stride + key].
  float* map;
  int64_t map_stride;
};

struct ColumnKernels {
  size_t (*scratch_bytes)(const HostCall& call);
  void (*run)(const ColumnUnit& unit, std::byte* scratch);
};

LH_PER_ISA(ColumnKernels, kColumnKernels)

}  // namespace longhaul
