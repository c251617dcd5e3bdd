#pragma once
// The columns and diagonals of an attention map by which a query head reads a prompt: those that
// its last rows gave most to (MInference's vertical-slash pattern, arXiv:2407.02490).

#include <span>

#include "ops/choose/select_rows.h"

namespace longhaul {

/// Of every head the first keys and the nearest distances are among its lines.
inline constexpr int64_t kForcedColumns = 30, kForcedDiagonals = 100;

/// The lines of a query head, and the memory that they are found in.
struct LineChoice {
  RowList columns;  ///< keys
  /// [far, near] distances of diagonals between which a tile's stretches leave no key out, far ones
  /// first; there is always one that ends at distance 0.
  Array<int32_t> runs;
  Array<int32_t> run_count;  ///< [1]
  RowSelection column_rows, diagonal_rows;
};

/// What the lines of a head are chosen by, how many there are, and where they go.
struct LineTask {
  View<const float> columns;    ///< [keys]: what the last rows gave to each key ...
  View<const float> diagonals;  ///< [keys]: ... and to each distance
  int64_t vertical = 0, slash = 0;
  LineChoice* chosen = nullptr;
};

/// The best `vertical` columns and `slash` diagonals of every task, the forced ones among them. A
/// diagonal at distance o lets a tile of rows see `tile` keys up to its end less o, so that
/// neighbours make one run.
void choose_lines(Queue& queue, std::span<const LineTask> tasks, int tile);

}  // namespace longhaul
