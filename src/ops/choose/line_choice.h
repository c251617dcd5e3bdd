#pragma once
// Selects the columns and diagonals (lines) of an attention map to which a query head attends in a
// prompt (MInference's vertical-slash pattern, arXiv:2407.02490). The lines with the most attention
// from the last rows are selected.

#include <span>

#include "ops/choose/select_rows.h"

namespace longhaul {

/// The number of first keys, and of shortest distances, that are always selected.
inline constexpr int64_t kForcedColumns = 30, kForcedDiagonals = 100;

/// The selected lines of a query head, and the buffers of their selection.
struct LineChoice {
  RowList columns;  ///< selected keys
  /// Runs of neighbouring diagonals, as pairs of distances [far, near]. Runs with larger distances
  /// come first. The key ranges of a run's diagonals leave no gap within a tile of rows. The last
  /// run always ends at distance 0.
  Array<int32_t> runs;
  Array<int32_t> run_count;  ///< [1]
  RowSelection column_rows, diagonal_rows;
};

/// Inputs and output of the selection for one head. `vertical` and `slash` are the numbers of
/// columns and diagonals.
struct LineTask {
  View<const float> columns;  ///< [keys]: attention of the last rows to each key
  /// [keys]: attention of the last rows by distance between row and key.
  View<const float> diagonals;
  int64_t vertical = 0, slash = 0;
  LineChoice* chosen = nullptr;

  bool lies_on(Place place) const { return columns.place() == place && diagonals.place() == place; }
};

/// Selects the best `vertical` columns and `slash` diagonals of every task. The numbers include the
/// lines that are always selected. For a tile (a group of adjacent query rows), a diagonal at
/// distance o makes `tile` keys visible, which end at the tile's end minus o. Neighbouring
/// diagonals therefore form one run.
void choose_lines(Queue& queue, std::span<const LineTask> tasks, int tile);
/// The device version of choose_lines(). The arrays of the tasks' `chosen` are already allocated.
inline const DeviceOperation<bool(std::span<const LineTask>, int tile)> kChooseLines;

}  // namespace longhaul
