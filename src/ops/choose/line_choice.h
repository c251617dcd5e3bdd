#pragma once
// Selects the lines of the attention map to which a query head is restricted in a prompt
// (MInference's vertical-slash pattern, arXiv:2407.02490). A line is a column (one key) or a
// diagonal (one distance between row and key). The lines to which the last rows give the most
// attention are selected.

#include <span>

#include "ops/choose/select_rows.h"

namespace longhaul {

/// Number of first keys, and number of shortest distances, that are always selected.
inline constexpr int64_t kForcedColumns = 30, kForcedDiagonals = 100;

/// The selected lines of a query head, and the memory of the selection.
struct LineChoice {
  RowList columns;  ///< selected columns: numbers of keys
  /// The selected diagonals as runs. A run is a pair of distances [far, near] that stands for
  /// neighbouring diagonals, and runs with larger distances come first. The keys that the diagonals
  /// of a run make visible to a tile (a group of adjacent query rows) have no gap. The last run
  /// always ends at distance 0.
  Array<int32_t> runs;
  Array<int32_t> run_count;  ///< [1] number of runs
  RowSelection column_rows, diagonal_rows;
};

/// Inputs and output of the selection for one head. `vertical` and `slash` are the numbers of
/// columns and diagonals to select.
struct LineTask {
  View<const float> columns;  ///< [keys]: attention probability of the last rows for each key
  /// [keys]: attention probability of the last rows for each distance between row and key.
  View<const float> diagonals;
  int64_t vertical = 0, slash = 0;
  LineChoice* chosen = nullptr;

  bool lies_on(Place place) const { return columns.place() == place && diagonals.place() == place; }
};

/// Selects the best `vertical` columns and `slash` diagonals of every task. These numbers include
/// the lines that are always selected. A tile has `tile` query rows. A diagonal at distance o makes
/// `tile` keys visible to all rows of a tile. The last of these keys is at distance o from the
/// tile's last row. Diagonals whose keys overlap or touch therefore form one run.
void choose_lines(Queue& queue, std::span<const LineTask> tasks, int tile);
/// The device version of choose_lines(). The arrays of the tasks' `chosen` are allocated before the
/// call.
inline const DeviceOperation<bool(std::span<const LineTask>, int tile)> kChooseLines;

}  // namespace longhaul
