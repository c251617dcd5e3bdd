#pragma once
// Interface between line_sums.cc and the kernels of an instruction-set level. A unit is the part of
// a task that one thread computes (AttendUnit).

#include "ops/maps/column_kernels.h"

namespace longhaul {

/// All heads of a task and keys [key_begin, key_begin + key_count). key_count is at most
/// kColumnKeys.
struct LineUnit {
  AttendUnit rows;
  float* columns;  ///< [head_count, ...] sums for the unit's keys; heads are `columns_stride` apart
  int64_t columns_stride;
  /// [head_count, line_width(row_count)], initially zeros. The sum of a diagonal is at index key -
  /// row + row_count - 1 + kLinePadding, where key and row are counted within the unit.
  float* diagonals;
};

/// Kernels process whole tiles of rows. They may write zeros up to this distance before the first
/// diagonal.
inline constexpr int kLinePadding = kTileRows - 1;
inline int64_t line_width(int row_count) { return kColumnKeys + row_count + kTileRows; }

struct LineKernels {
  size_t (*scratch_bytes)(const HostCall& call);
  void (*run)(const LineUnit& unit, std::byte* scratch);
};

LH_PER_ISA(LineKernels, kLineKernels)

}  // namespace longhaul
