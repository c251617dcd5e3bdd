#pragma once
// LRU cache of pages with old rows. Other pages are offloaded to disk, which only the host
// supports. This is the only place where the host must read which blocks an operation has selected.

#include <cstdint>
#include <vector>

#include "kv/kv_store.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// Blocks of equal length, adjacent to each other: rows [first, last) of a layer.
struct BlockRange {
  int64_t first = 0, last = 0;
  int64_t block = 1;  ///< rows per block
};

/// The cache of one layer. All its heads hold the same rows.
class BlockCache {
 public:
  /// Spills the least recently used pages and loads the `chosen` blocks into memory. At most as
  /// many pages are in memory as `cached` blocks may have, or as this call uses. Pages with a row
  /// outside the range are never spilled, so they are always in memory.
  void use_blocks(Queue& queue, KvStore& store, int layer, const BlockRange& range,
                  const RowList& chosen, int64_t cached);

 private:
  void use(int64_t page_rows, const BlockRange& range, int64_t begin, int64_t end);
  void spill(KvStore& store, int layer, size_t keep);

  std::vector<int32_t> pages_;    ///< in memory, last used last
  std::vector<int32_t> missing_;  ///< pages that this call has yet to load
  size_t used_now_ = 0;           ///< number of pages used by this call, the last ones
};

/// Rows [begin, end) of every list of a layer may now be offloaded too, in addition to rows [first,
/// begin). Pages that became whole with them are spilled.
void spill_whole_pages(KvStore& store, int layer, int64_t first, int64_t begin, int64_t end);

}  // namespace longhaul
