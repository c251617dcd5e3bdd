#pragma once
// Recomputation of the attention from rows to the window before them.

#include <span>
#include <vector>

#include "ops/maps/column_sums.h"

namespace longhaul {

/// Rows from token `begin` on, the first of them at `position`; token t has position t - first.
struct WindowRows {
  AttendCall call;  ///< with lse_in
  int64_t begin = 0;
  int rows = 0;
  int64_t position = 0;
  int64_t first = 0;
  std::span<const KeySegment> lists;  ///< the window, per KV head; row i of a list is token i

  /// Segments of the tokens [from, from + count) of the window, per KV head, in `to`.
  std::span<const KeySegment> tokens(int64_t from, int64_t count,
                                     std::vector<KeySegment>& to) const;
};

/// Memory of the sums, reused from call to call.
struct WindowSums {
  Array<float> sums;  ///< [heads, keys]
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  std::vector<ColumnTarget> targets;
};

/// to [count, heads] += the probability that each of `count` tokens from `from` on received from
/// the rows.
void add_window_sums(const WindowRows& rows, int64_t from, int64_t count, View<float> to,
                     WindowSums& memory);

}  // namespace longhaul
