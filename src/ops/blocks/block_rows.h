#pragma once
// Makes lists of row numbers from lists of blocks, and stores lists from step to step.

#include "base/rolling_array.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// Returns rows [0, first), then the rows of `blocks`. Block b has `block` rows from begin + b *
/// block on. The result is stored in `memory`, on the device of the block list.
RowList block_rows(Queue& queue, int64_t first, const RowList& blocks, int64_t block, int64_t begin,
                   Array<int32_t>& memory);
inline const DeviceOperation<bool(int64_t first, View<const int32_t> blocks, int64_t block,
                                  int64_t begin, View<int32_t> rows)>
    kBlockRows;

/// Returns `list` followed by rows [begin, end), which must be higher than the rows of the list.
/// The result is stored in `memory`, or is the list itself.
RowList with_run(Queue& queue, const RowList& list, int64_t begin, int64_t end,
                 Array<int32_t>& memory);

/// Returns the union of `list` and `more` in ascending order. The result is stored in `memory`, or
/// is the list itself. On a device the function waits, unless `more` is empty.
RowList with_rows(Queue& queue, const RowList& list, std::span<const int32_t> more,
                  Array<int32_t>& memory);

/// A list that is kept until the next one is set, and saved in session files.
class StoredList {
 public:
  void set(Queue& queue, const RowList& list);
  void set_first(int64_t count);  ///< 0, 1, ..., count - 1
  /// Valid until the next list is set.
  RowList list() const { return {rows_.view(), {}}; }

  void archive(Archive& archive) { rows_.archive(archive); }
  /// Returns whether the list from a file is valid: at most `most` numbers from 0 to end - 1,
  /// ascending.
  bool makes_sense(int64_t most, int64_t end) const;

 private:
  RollingArray<int32_t> rows_;
};

}  // namespace longhaul
