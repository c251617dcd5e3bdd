#pragma once
// Selects the rows of a list to keep. The first and last rows are protected, and rows in between
// are ranked by scores (H2O, arXiv:2306.14048; SnapKV, arXiv:2404.14469). AdaKV (arXiv:2407.11550)
// divides one budget among several lists. A list is the stored rows of one KV head.

#include <vector>

#include "base/on_device.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// The rows to keep: the first `first` rows, the last `last` rows, and the rows with the highest
/// scores between them. `count` is the total number of rows to keep, at least first + last.
struct RowsToKeep {
  int64_t first = 0, last = 0, count = 0;
};

/// Memory of a selection, which is reused between calls.
struct RowSelection {
  Array<int32_t> rows;
  Array<float> ranked;  ///< scratch memory of the search
};

/// Returns the rows to keep in ascending order. `scores` has one score per row of the list. If
/// there are at most `count` rows, all are kept. If two rows have equal scores, the row with the
/// lower number is kept. NaN counts as minus infinity. The scores of the first and last rows that
/// are always kept are ignored. The returned view refers to memory of `selection`.
RowList select_rows(Queue& queue, View<const float> scores, const RowsToKeep& keep,
                    RowSelection& selection);

/// Selects rows of several lists at once. Each span has one element per list. kept[l] receives the
/// rows of list l and refers to memory of selections[l].
void select_rows(Queue& queue, std::span<const View<const float>> scores, const RowsToKeep& keep,
                 std::span<RowSelection> selections, std::span<RowList> kept);
/// Writes the kept rows of list l to rows[l] [keep.count], in ascending order, for every list l.
/// Each list must have more rows than are kept.
inline const DeviceOperation<bool(std::span<const View<const float>> scores, const RowsToKeep& keep,
                                  std::span<const View<int32_t>> rows)>
    kSelectRows;

}  // namespace longhaul
