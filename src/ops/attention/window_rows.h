#pragma once
// Recomputes the attention probabilities from rows to the window of tokens before them.

#include <span>
#include <vector>

#include "ops/maps/column_sums.h"

namespace longhaul {

/// Rows from token `begin` on. The first row is at `position`; token t has position t - first.
struct WindowRows {
  AttendCall call;  ///< with lse_in
  int64_t begin = 0;
  int rows = 0;
  int64_t position = 0;
  int64_t first = 0;
  std::span<const KeySegment>
      lists;  ///< the tokens of the window, per KV head; row i of a list is token i

  /// Writes the segments of tokens [from, from + count) of the window, one per KV head, to `to` and
  /// returns them.
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

/// Adds the probability that each of `count` tokens from `from` on receives from the rows to `to`
/// [count, heads].
void add_window_sums(const WindowRows& rows, int64_t from, int64_t count, View<float> to,
                     WindowSums& memory);

}  // namespace longhaul
