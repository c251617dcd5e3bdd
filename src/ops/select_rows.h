#pragma once
// Which rows of a list stay where its ends are protected and scores decide between them (H2O,
// arXiv:2306.14048; SnapKV, arXiv:2404.14469), and how several lists share one budget (AdaKV,
// arXiv:2407.11550).

#include <vector>

#include "ops/row_list.h"

namespace longhaul {

/// The first `first` rows, the last `last`, and of those between them the ones with the highest
/// scores; `count` in all, at least first + last.
struct RowsToKeep {
  int64_t first = 0, last = 0, count = 0;
};

/// Memory of a selection, reused from call to call.
struct RowSelection {
  Array<int32_t> rows;
  Array<int32_t> order;  ///< scratch of the search
};

/// Ascending rows of `scores` [rows] that stay: all, when there are no more than `count`. Of equal
/// scores the lower row stays; NaN is below all. Scores of the ends do not count. The result lives
/// in `selection`.
RowList select_rows(Queue& queue, View<const float> scores, const RowsToKeep& keep,
                    RowSelection& selection);

/// Lists that share a budget: `count` rows of all of them together stay. Each keeps its ends, and
/// of the rows between them its best `sure`; what then is left goes to the highest scores of all
/// lists (of equal ones to the lower list, then the lower row). `scores` and `selections`: one per
/// list; selections[l].rows holds the result of list l, returned as lists in the same order.
void select_rows_dealt(Queue& queue, std::span<const View<const float>> scores,
                       const RowsToKeep& keep, int64_t sure, std::span<RowSelection> selections,
                       std::span<RowList> kept);

}  // namespace longhaul
