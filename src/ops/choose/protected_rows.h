#pragma once
// Helpers for selections that keep the first and last rows of a list (select_rows.h), on the host.
// A list is the stored rows of one KV head.

#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/choose/select_rows.h"

namespace longhaul {

inline constexpr int64_t kMostListRows = std::numeric_limits<int32_t>::max() - 1;

inline void check_ends(const RowsToKeep& keep) { LH_ASSERT(keep.first >= 0 && keep.last >= 0); }

/// Returns a RowList with the numbers of all `rows` rows of a list.
inline RowList all_rows(Queue& queue, int64_t rows, RowSelection& selection) {
  const View<int32_t> all = selection.rows.resize(queue, rows);
  std::iota(host(all).begin(), host(all).end(), 0);
  return {all, {}};
}

/// Returns the scores of the rows between the protected first and last rows. The result is empty if
/// there is no row between them.
inline std::span<const float> middle_of(View<const float> scores, const RowsToKeep& keep) {
  const int64_t rows = scores.size(), between = rows - keep.first - keep.last;
  return between <= 0 ? std::span<const float>() : host(scores.part(keep.first, between));
}

/// Returns the first keep.first rows, the rows that choose() selects, and the last keep.last rows.
/// choose(out) must write the numbers of rows between the two ends, at most `most`, and return how
/// many it wrote.
template <class Choose>
RowList with_ends(Queue& queue, int64_t rows, int64_t most, const RowsToKeep& keep,
                  RowSelection& selection, Choose&& choose) {
  int32_t* const first =
      host(selection.rows.resize(queue, keep.first + most + keep.last + 1)).data();
  std::iota(first, first + keep.first, 0);
  int32_t* const last = first + keep.first + choose(first + keep.first);
  std::iota(last, last + keep.last, static_cast<int32_t>(rows - keep.last));
  return {selection.rows.resize(queue, last + keep.last - first), {}};
}

}  // namespace longhaul
