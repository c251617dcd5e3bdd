#pragma once
// Interface between column_sums.cc and the kernels of an ISA level.

#include "ops/attention/attention_kernels.h"

namespace longhaul {

/// Keys whose columns one thread sums: several packed blocks, which share one conversion of the
/// query rows per tile of rows.
inline constexpr int kColumnBlocks = 4;
inline constexpr int kColumnKeys = kColumnBlocks * kTileKeys;

/// Keys [key_begin, key_begin + key_count) of the unit's only segment, key_count <= kColumnKeys.
struct ColumnUnit {
  AttendUnit rows;
  float* sums;     ///< [key_count]
  float* squares;  ///< [key_count]; may be null
  /// Sums by rows instead: probabilities summed over the unit's heads are added to map[row *
  /// map_stride + key]. Null: columns are summed.
  float* map;
  int64_t map_stride;
};

struct ColumnKernels {
  size_t (*scratch_bytes)(const HostCall& call);
  void (*run)(const ColumnUnit& unit, std::byte* scratch);
};

LH_PER_ISA(ColumnKernels, kColumnKernels)

}  // namespace longhaul
