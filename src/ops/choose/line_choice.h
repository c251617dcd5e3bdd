#pragma once
// Selects the columns and diagonals of an attention map with which a query head reads a prompt
// (MInference's vertical-slash pattern, arXiv:2407.02490). The columns and diagonals with most
// attention from the last rows are selected.

#include <span>

#include "ops/choose/select_rows.h"

namespace longhaul {

/// The first keys and the nearest distances that are always selected.
inline constexpr int64_t kForcedColumns = 30, kForcedDiagonals = 100;

/// The lines of a query head, and the memory of their selection.
struct LineChoice {
  RowList columns;  ///< selected keys
  /// Distances [far, near] of diagonals, far ones first. Within a run, a tile's key ranges leave no
  /// key out. There is always a run that ends at distance 0.
  Array<int32_t> runs;
  Array<int32_t> run_count;  ///< [1]
  RowSelection column_rows, diagonal_rows;
};

/// Input for selecting the lines of a head, their number, and the output.
struct LineTask {
  View<const float> columns;    ///< [keys]: attention of the last rows to each key
  View<const float> diagonals;  ///< [keys]: attention of the last rows by distance
  int64_t vertical = 0, slash = 0;
  LineChoice* chosen = nullptr;

  bool lies_on(Place place) const { return columns.place() == place && diagonals.place() == place; }
};

/// Selects the best `vertical` columns and `slash` diagonals of every task, including the forced
/// ones. A diagonal at distance o makes `tile` keys visible to a tile of rows, up to the tile's end
/// minus o, so neighbouring diagonals form one run.
void choose_lines(Queue& queue, std::span<const LineTask> tasks, int tile);
/// Writes to the tasks' `chosen`, which have room.
inline const DeviceOperation<bool(std::span<const LineTask>, int tile)> kChooseLines;

}  // namespace longhaul
