#pragma once
// Recomputes the attention that rows give to the window of tokens before them.

#include <span>
#include <vector>

#include "ops/maps/column_sums.h"

namespace longhaul {

/// Query rows of the context, beginning with token `begin`. For visibility, row 0 is at `position`,
/// and token t of the window is at position t - first.
struct WindowRows {
  AttendCall call;  ///< must have lse_in
  int64_t begin = 0;
  int rows = 0;
  int64_t position = 0;
  int64_t first = 0;
  std::span<const KeySegment>
      lists;  ///< per KV head: the tokens of the window; row i of a list is token i

  /// Writes the segments of tokens [from, from + count) of the window, one per KV head, to `to`.
  /// Returns them.
  std::span<const KeySegment> tokens(int64_t from, int64_t count,
                                     std::vector<KeySegment>& to) const;
};

/// Buffers that add_window_sums() reuses between calls.
struct WindowSums {
  Array<float> sums;  ///< [heads, keys]
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  std::vector<ColumnTarget> targets;
};

/// Computes the attention probability that each of the `count` tokens from `from` on receives from
/// all rows. Adds it to `to` [count, heads].
void add_window_sums(const WindowRows& rows, int64_t from, int64_t count, View<float> to,
                     WindowSums& memory);

}  // namespace longhaul
