#pragma once
// The interface between line_sums.cc and the kernels of the instruction-set levels. A unit is the
// part of a task that one thread computes (AttendUnit).

#include "ops/maps/column_kernels.h"

namespace longhaul {

/// All heads of a task, and keys [key_begin, key_begin + key_count). key_count is at most
/// kColumnKeys.
struct LineUnit {
  AttendUnit rows;
  float* columns;  ///< sums per key for the unit's keys; heads begin `columns_stride` apart
  int64_t columns_stride;
  /// [head_count, line_width(row_count)], initially zeros. A diagonal consists of the pairs of a
  /// row and a key at one distance. Its sum is at index key - row + row_count - 1 + kLinePadding,
  /// where `key` and `row` are counted from the unit's first key and row.
  float* diagonals;
};

/// Number of elements before the first diagonal to which kernels may write zeros, because they
/// process whole tiles of rows.
inline constexpr int kLinePadding = kTileRows - 1;
inline int64_t line_width(int row_count) { return kColumnKeys + row_count + kTileRows; }

struct LineKernels {
  size_t (*scratch_bytes)(const HostCall& call);
  void (*run)(const LineUnit& unit, std::byte* scratch);
};

LH_PER_ISA(LineKernels, kLineKernels)

}  // namespace longhaul
