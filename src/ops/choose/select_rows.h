#pragma once
// Selects the rows of a list to keep. The first and last rows are protected, and rows in between
// are ranked by scores (H2O, arXiv:2306.14048; SnapKV, arXiv:2404.14469). Several lists may share a
// budget (AdaKV, arXiv:2407.11550).

#include <vector>

#include "base/on_device.h"
#include "ops/choose/score_cut.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// The rows to keep: the first `first` rows, the last `last` rows, and the rows with the highest
/// scores in between. `count` is the total number, which is at least first + last.
struct RowsToKeep {
  int64_t first = 0, last = 0, count = 0;
};

/// Buffers of a selection, reused between calls.
struct RowSelection {
  Array<int32_t> rows;
  Array<float> ranked;   ///< scratch of the search
  ScoreCut<float> sure;  ///< scratch of select_rows_dealt()
};

/// Returns the rows to keep in ascending order. `scores` has one score per row of the list. If
/// there are at most `count` rows, all are kept. If scores are equal, the lower row is kept. NaN
/// counts as minus infinity. The scores of the protected ends are ignored. The result is stored in
/// `selection`.
RowList select_rows(Queue& queue, View<const float> scores, const RowsToKeep& keep,
                    RowSelection& selection);

/// Selects rows of several lists at once. Each span has one element per list. kept[l] refers to
/// memory of selections[l].
void select_rows(Queue& queue, std::span<const View<const float>> scores, const RowsToKeep& keep,
                 std::span<RowSelection> selections, std::span<RowList> kept);
/// Writes the kept rows of every list to rows[l] [keep.count], in ascending order. Each list has
/// more rows than are kept.
inline const DeviceOperation<bool(std::span<const View<const float>> scores, const RowsToKeep& keep,
                                  std::span<const View<int32_t>> rows)>
    kSelectRows;

/// Selects rows of lists that share a budget. All lists together keep `keep.count` rows, or all
/// rows if there are no more. Each list keeps its protected ends and its best `sure` rows in
/// between; a list that is too short keeps all its rows. These guaranteed rows must fit into the
/// budget. The rest of the budget goes to the highest scores of all lists. If scores are equal, the
/// lower list comes first, then the lower row. `scores`, `selections` and `kept` have one element
/// per list, and kept[l] refers to memory of selections[l]. On a device, the number of kept rows of
/// each list is known only to the device. It is written to `counts` [lists], and kept[l].count is a
/// view of one element of it.
void select_rows_dealt(Queue& queue, std::span<const View<const float>> scores,
                       const RowsToKeep& keep, int64_t sure, std::span<RowSelection> selections,
                       std::span<RowList> kept, View<int32_t> counts);

/// The arguments of select_rows_dealt() on a device.
struct DealtRows {
  std::span<const View<const float>> scores;
  RowsToKeep ends;  ///< numbers of first and last rows that every list keeps
  int64_t sure = 0;
  int64_t left = 0;     ///< number of rows that all lists keep in addition to the guaranteed ones
  View<float> scratch;  ///< one value for each row between the protected ends
  std::span<const View<int32_t>> rows;  ///< per list: room for all rows that may be kept
  View<int32_t> counts;                 ///< [lists]

  bool lies_on(Place place) const { return longhaul::lies_on(place, scores); }
};
inline const DeviceOperation<bool(const DealtRows&)> kDealRows;

/// Returns the counts in host memory. Waits if a device wrote them.
std::vector<int32_t> read_counts(Queue& queue, View<const int32_t> counts);

}  // namespace longhaul
