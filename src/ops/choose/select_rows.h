#pragma once
// Selects the rows of a list to keep, with protected ends and scores for the rows in between (H2O,
// arXiv:2306.14048; SnapKV, arXiv:2404.14469), and budget allocation among several lists (AdaKV,
// arXiv:2407.11550).

#include <vector>

#include "base/on_device.h"
#include "ops/choose/score_cut.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// Rule: keeps the first `first` rows, the last `last` rows, and the rows with the highest scores
/// in between. `count` is the total number, at least first + last.
struct RowsToKeep {
  int64_t first = 0, last = 0, count = 0;
};

/// Memory of a selection, reused from call to call.
struct RowSelection {
  Array<int32_t> rows;
  Array<float> ranked;   ///< scratch of the search
  ScoreCut<float> sure;  ///< scratch of select_rows_dealt()
};

/// Returns the rows of `scores` [rows] to keep, in ascending order. If there are at most `count`
/// rows, all are kept. Of equal scores the lower row wins. NaN counts as minus infinity. Scores of
/// the ends are ignored. The result is stored in `selection`.
RowList select_rows(Queue& queue, View<const float> scores, const RowsToKeep& keep,
                    RowSelection& selection);

/// Variant for several lists at once, with one element of each span per list. kept[l] lives in
/// selections[l].
void select_rows(Queue& queue, std::span<const View<const float>> scores, const RowsToKeep& keep,
                 std::span<RowSelection> selections, std::span<RowList> kept);
/// Writes the kept rows of every list, ascending, to rows[l] [keep.count]. Lists have more rows
/// than are kept.
inline const DeviceOperation<bool(std::span<const View<const float>> scores, const RowsToKeep& keep,
                                  std::span<const View<int32_t>> rows)>
    kSelectRows;

/// Selection for lists that share a budget: all lists together keep `keep.count` rows (everything,
/// if there are no more). Each list keeps its ends and its best `sure` rows in between, or all of
/// its rows if it is too short. The remaining budget goes to the highest scores of all lists. Ties
/// go to the lower list, then to the lower row. `scores`, `selections` and `kept` have one element
/// per list; kept[l] lives in selections[l]. The guaranteed rows must fit into the budget. On a
/// device, the numbers of kept rows per list stay on the device. They are written to `counts`
/// [lists], and kept[l].count is a view of one element.
void select_rows_dealt(Queue& queue, std::span<const View<const float>> scores,
                       const RowsToKeep& keep, int64_t sure, std::span<RowSelection> selections,
                       std::span<RowList> kept, View<int32_t> counts);

/// The arguments of select_rows_dealt() on a device.
struct DealtRows {
  std::span<const View<const float>> scores;
  RowsToKeep ends;  ///< sinks and recent rows of every list
  int64_t sure = 0;
  int64_t left = 0;                     ///< rows kept in all lists, beyond guaranteed ones and ends
  View<float> scratch;                  ///< one value for every row between the ends
  std::span<const View<int32_t>> rows;  ///< each with room for all rows that may be kept
  View<int32_t> counts;                 ///< [lists]

  bool lies_on(Place place) const { return longhaul::lies_on(place, scores); }
};
inline const DeviceOperation<bool(const DealtRows&)> kDealRows;

/// Returns the counts of the lists for the host. Waits if a device wrote them.
std::vector<int32_t> read_counts(Queue& queue, View<const int32_t> counts);

}  // namespace longhaul
