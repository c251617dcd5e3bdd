#pragma once
// Allocates a budget of rows among several lists, and selects the rows that each list keeps (AdaKV,
// arXiv:2407.11550). A list holds the stored rows of one KV head.

#include <vector>

#include "ops/choose/score_threshold.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

/// Buffers of the selection from one list, reused between calls.
struct SharedSelection : RowSelection {
  ScoreThreshold<float> guaranteed;  ///< scratch
};

/// Selects rows of lists that share a budget. All lists together keep `keep.count` rows, or all
/// rows if they have fewer. Each list keeps its protected ends and its best `guaranteed` rows in
/// between; a list that is too short keeps all its rows. These guaranteed rows must fit into the
/// budget. The rest of the budget goes to the highest scores of all lists. If scores are equal, the
/// row of the list with the lower index is preferred, and within a list the row with the lower
/// index. `scores`, `selections` and `kept` have one element per list, and kept[l] refers to memory
/// of selections[l]. On a device, the number of kept rows of each list is known only to the device.
/// This number is written to `counts` [lists], and kept[l].count is a view of one element of
/// `counts`.
void allocate_rows(Queue& queue, std::span<const View<const float>> scores, const RowsToKeep& keep,
                   int64_t guaranteed, std::span<SharedSelection> selections,
                   std::span<RowList> kept, View<int32_t> counts);

/// The arguments of allocate_rows() on a device.
struct SharedBudget {
  std::span<const View<const float>> scores;
  RowsToKeep ends;  ///< numbers of first and last rows that every list keeps
  int64_t guaranteed = 0;
  int64_t left = 0;     ///< number of rows that all lists keep in addition to the guaranteed ones
  View<float> scratch;  ///< one value for each row between the protected ends
  std::span<const View<int32_t>> rows;  ///< per list: room for all rows that may be kept
  View<int32_t> counts;                 ///< [lists]

  bool lies_on(Place place) const { return longhaul::lies_on(place, scores); }
};
inline const DeviceOperation<bool(const SharedBudget&)> kAllocateRows;

/// Returns the counts in host memory. Waits if a device wrote them.
std::vector<int32_t> read_counts(Queue& queue, View<const int32_t> counts);

}  // namespace longhaul
