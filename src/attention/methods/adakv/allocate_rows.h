#pragma once
// Divides a budget of rows among several lists, and selects the rows that each list keeps (AdaKV,
// arXiv:2407.11550). A list holds the stored rows of one KV head. A row is the key and the value of
// one token.

#include <vector>

#include "ops/choose/score_threshold.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

/// Buffers of the selection from one list, which are reused between calls.
struct SharedSelection : RowSelection {
  ScoreThreshold<float> guaranteed;  ///< scratch
};

/// Selects the rows that lists with a shared budget keep. All lists together keep `keep.count`
/// rows, or all their rows if they have fewer. Each list keeps its first keep.first rows, its last
/// keep.last rows, and the `guaranteed` rows with the highest scores in between. A list with fewer
/// rows keeps all of them. All these rows must fit into the budget. The rest of the budget is used
/// for the rows with the highest scores among all remaining rows of all lists. If scores are equal,
/// the list with the lower index is preferred, and within a list the row with the lower index.
///
/// `scores`, `selections` and `kept` have one element per list, and kept[l] refers to memory of
/// selections[l]. On a device, the numbers of kept rows are not available on the host. The device
/// writes them to `counts` [lists], and kept[l].count is a view of counts[l].
void allocate_rows(Queue& queue, std::span<const View<const float>> scores, const RowsToKeep& keep,
                   int64_t guaranteed, std::span<SharedSelection> selections,
                   std::span<RowList> kept, View<int32_t> counts);

/// The arguments of allocate_rows() on a device.
struct SharedBudget {
  std::span<const View<const float>> scores;
  RowsToKeep ends;  ///< ends.first and ends.last rows, which every list keeps
  int64_t guaranteed = 0;
  int64_t left = 0;     ///< number of rows to keep over all lists after the guaranteed ones
  View<float> scratch;  ///< one element per row between the ends, over all lists
  /// Per list: result, with room for all rows that may be kept.
  std::span<const View<int32_t>> rows;
  View<int32_t> counts;  ///< [lists]: result, number of kept rows

  bool lies_on(Place place) const { return longhaul::lies_on(place, scores); }
};
inline const DeviceOperation<bool(const SharedBudget&)> kAllocateRows;

/// Returns the contents of `counts`. Waits if a device writes them.
std::vector<int32_t> read_counts(Queue& queue, View<const int32_t> counts);

}  // namespace longhaul
