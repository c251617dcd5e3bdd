#pragma once
// Recomputes the attention probabilities of query rows for the tokens in a window before these
// rows.

#include <span>
#include <vector>

#include "ops/maps/column_sums.h"

namespace longhaul {

/// `rows` consecutive query rows. Row 0 is token `begin` of the context. For visibility, row 0 has
/// position `position`, and token t of the window has position t - first.
struct WindowRows {
  AttendCall call;  ///< must have lse_in
  int64_t begin = 0;
  int rows = 0;
  int64_t position = 0;
  int64_t first = 0;
  std::span<const KeySegment>
      lists;  ///< per KV head: a segment over the tokens of the window; stored row i is token i

  /// Writes segments of tokens [from, from + count) of the window to `to`, one per KV head, and
  /// returns them.
  std::span<const KeySegment> tokens(int64_t from, int64_t count,
                                     std::vector<KeySegment>& to) const;
};

/// Memory that add_window_sums() reuses between calls.
struct WindowSums {
  Array<float> sums;  ///< [heads, keys]
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  std::vector<ColumnTarget> targets;
};

/// For each of the `count` tokens from token `from` on, computes the sum over all rows of the
/// attention probability that each query head gives to the token. Adds the sums to `to` [count,
/// heads].
void add_window_sums(const WindowRows& rows, int64_t from, int64_t count, View<float> to,
                     WindowSums& memory);

}  // namespace longhaul
