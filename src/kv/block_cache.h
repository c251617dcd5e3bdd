#pragma once
// Which pages of old rows are in memory: those used last; the others are in the slower tier, which
// the host alone has. The one place where it must know which blocks an operation has chosen.

#include <cstdint>
#include <vector>

#include "kv/kv_store.h"
#include "ops/row_list.h"

namespace longhaul {

/// Blocks of a layer's rows, all of one length and one after the other: rows [first, last).
struct BlockRange {
  int64_t first = 0, last = 0;
  int64_t block = 1;  ///< rows
};

/// Of one layer; all its heads have the same rows.
class BlockCache {
 public:
  /// Spills what was not used for longest and brings the `chosen` blocks into memory: as many pages
  /// are there as `cached` blocks may have, or as this call uses, and never more. Pages that hold a
  /// row outside the range are never spilled, so they are there.
  void use_blocks(Queue& queue, KvStore& store, int layer, const BlockRange& range,
                  const RowList& chosen, int64_t cached);

 private:
  void use(int64_t page_rows, const BlockRange& range, int64_t begin, int64_t end);
  void spill(KvStore& store, int layer, size_t keep);

  std::vector<int32_t> pages_;    ///< in memory, last used last
  std::vector<int32_t> missing_;  ///< of them: those that this call has yet to load
  size_t used_now_ = 0;           ///< by this call: the last ones
};

/// Rows [begin, end) of every list of a layer may leave memory as well, as those from `first` to
/// `begin` could before: the pages that became whole with them go to the slower tier.
void spill_whole_pages(KvStore& store, int layer, int64_t first, int64_t begin, int64_t end);

}  // namespace longhaul
