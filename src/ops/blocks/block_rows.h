#pragma once
// Lists the row numbers of blocks, and stores a list from step to step.

#include "base/rolling_array.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// Returns rows [0, first), then the rows of `blocks`. Block b has rows [begin + b * block, begin +
/// (b + 1) * block). The result is stored in `memory`, on the device of the list of blocks.
RowList block_rows(Queue& queue, int64_t first, const RowList& blocks, int64_t block, int64_t begin,
                   Array<int32_t>& memory);
inline const DeviceOperation<bool(int64_t first, View<const int32_t> blocks, int64_t block,
                                  int64_t begin, View<int32_t> rows)>
    kBlockRows;

/// Returns `list` followed by rows [begin, end), which must be higher than all rows of `list`. The
/// result is stored in `memory`, or is `list` itself.
RowList with_run(Queue& queue, const RowList& list, int64_t begin, int64_t end,
                 Array<int32_t>& memory);

/// Returns the union of `list` and `more` in ascending order. The result is stored in `memory`, or
/// is `list` itself. On a device, the function waits for the queue unless `more` is empty.
RowList with_rows(Queue& queue, const RowList& list, std::span<const int32_t> more,
                  Array<int32_t>& memory);

/// A list that is kept until the next one is set, and saved in session files.
class StoredList {
 public:
  void set(Queue& queue, const RowList& list);
  void set_first(int64_t count);  ///< sets the list 0, 1, ..., count - 1
  /// Returns the list. The result is valid until the next list is set.
  RowList list() const { return {rows_.view(), {}}; }

  /// Saves or restores the list. After restoring, the caller must call makes_sense().
  void archive(Archive& archive) { rows_.archive(archive); }
  /// Returns whether the list is valid: at most `most` ascending numbers from 0 to end - 1.
  bool makes_sense(int64_t most, int64_t end) const;

 private:
  RollingArray<int32_t> rows_;
};

}  // namespace longhaul
