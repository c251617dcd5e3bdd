#pragma once
// Which rows of a list stay where its ends are protected and scores decide between them (H2O,
// arXiv:2306.14048; SnapKV, arXiv:2404.14469), and how several lists share one budget (AdaKV,
// arXiv:2407.11550).

#include <vector>

#include "ops/choose/score_cut.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// The first `first` rows, the last `last`, and of those between them the ones with the highest
/// scores; `count` in all, at least first + last.
struct RowsToKeep {
  int64_t first = 0, last = 0, count = 0;
};

/// Memory of a selection, reused from call to call.
struct RowSelection {
  Array<int32_t> rows;
  Array<float> ranked;   ///< scratch of the search
  ScoreCut<float> sure;  ///< scratch of select_rows_dealt()
};

/// Ascending rows of `scores` [rows] that stay: all, when there are no more than `count`. Of equal
/// scores the lower row stays; NaN counts as minus infinity. Scores of the ends do not count. The
/// result lives in `selection`.
RowList select_rows(Queue& queue, View<const float> scores, const RowsToKeep& keep,
                    RowSelection& selection);

/// The same of several lists at once, one element of each span for each of them: kept[l] lives in
/// selections[l].
void select_rows(Queue& queue, std::span<const View<const float>> scores, const RowsToKeep& keep,
                 std::span<RowSelection> selections, std::span<RowList> kept);

/// Lists that share a budget: `keep.count` rows of all of them together stay (all, when there are
/// no more). Each list keeps its ends, and of the rows between them its best `sure` (lists that are
/// too short for that: all of their rows); what then is left goes to the highest scores of all
/// lists. Of equal scores the lower list wins, then the lower row. `scores`, `selections` and
/// `kept` have one element per list; kept[l] lives in selections[l]. What is sure must fit into the
/// budget. A device alone knows how many rows of a list stay: it writes that to `counts` [lists],
/// memory of its place, of which kept[l].count is one.
void select_rows_dealt(Queue& queue, std::span<const View<const float>> scores,
                       const RowsToKeep& keep, int64_t sure, std::span<RowSelection> selections,
                       std::span<RowList> kept, View<int32_t> counts);

/// The counts of lists, for the host to read: waits where a device wrote them.
std::vector<int32_t> read_counts(Queue& queue, View<const int32_t> counts);

}  // namespace longhaul
