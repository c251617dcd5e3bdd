#pragma once
// Lists the row numbers of blocks, and keeps such a list from one decode step to the next.

#include "base/rolling_array.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// Returns rows [0, first), followed by the rows of `blocks`. Block b has rows [begin + b * block,
/// begin + (b + 1) * block). The result is stored in `memory`, on the device that holds `blocks`.
RowList block_rows(Queue& queue, int64_t first, const RowList& blocks, int64_t block, int64_t begin,
                   Array<int32_t>& memory);
inline const DeviceOperation<bool(int64_t first, View<const int32_t> blocks, int64_t block,
                                  int64_t begin, View<int32_t> rows)>
    kBlockRows;

/// Returns `list` followed by rows [begin, end), which must be higher than all rows of `list`. The
/// result is stored in `memory`. Only if `list` is on a device and the range is empty, the result
/// may be `list` itself.
RowList with_run(Queue& queue, const RowList& list, int64_t begin, int64_t end,
                 Array<int32_t>& memory);

/// Returns the union of `list` and `more` in ascending order. The result is stored in `memory`,
/// unless it is `list` itself because `more` is empty. On a device, the function waits for the
/// queue unless `more` is empty.
RowList with_rows(Queue& queue, const RowList& list, std::span<const int32_t> more,
                  Array<int32_t>& memory);

/// A list of row numbers that is kept until the next list is set. It is saved in session files.
class StoredList {
 public:
  void set(Queue& queue, const RowList& list);
  void set_first(int64_t count);  ///< sets the list 0, 1, ..., count - 1
  /// Returns the list. The returned view is valid until the next list is set.
  RowList list() const { return {rows_.view(), {}}; }

  /// Saves or restores the list. After restoring it, the caller must check makes_sense().
  void archive(Archive& archive) { rows_.archive(archive); }
  /// Returns whether the list is valid: it has at most `most` numbers, all at least 0 and below
  /// `end`, in ascending order.
  bool makes_sense(int64_t most, int64_t end) const;

 private:
  RollingArray<int32_t> rows_;
};

}  // namespace longhaul
