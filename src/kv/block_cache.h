#pragma once
// BlockCache is an LRU cache of pages with old rows. Pages outside the cache are offloaded to disk,
// which only the host supports. To load pages, the host must read which blocks an operation has
// selected. No other code reads such a selection on the host.

#include <cstdint>
#include <vector>

#include "kv/kv_store.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// The rows [first, last) of a layer, divided into adjacent blocks of equal length.
struct BlockRange {
  int64_t first = 0, last = 0;
  int64_t block = 1;  ///< rows per block
};

/// The cache of one layer. All lists of the layer hold the same rows.
class BlockCache {
 public:
  /// Loads the `chosen` blocks into memory, and offloads the least recently used pages. At most as
  /// many pages stay in memory as `cached` blocks have. If the blocks of this call have more pages,
  /// all of these pages stay in memory. Pages with a row outside `range` are always in memory and
  /// not counted. On a device the function does nothing.
  void use_blocks(Queue& queue, KvStore& store, int layer, const BlockRange& range,
                  const RowList& chosen, int64_t cached);

 private:
  void use(int64_t page_rows, const BlockRange& range, int64_t begin, int64_t end);
  void spill(KvStore& store, int layer, size_t keep);

  std::vector<int32_t> pages_;    ///< pages in memory, most recently used last
  std::vector<int32_t> missing_;  ///< pages that this call must load
  size_t used_now_ = 0;  ///< number of pages that this call uses; they are the last ones of pages_
};

/// Declares that rows [begin, end) of every list of a layer may be offloaded. Rows [first, begin)
/// may be offloaded already. Offloads the pages that lie completely within [first, end) and contain
/// a new row.
void spill_whole_pages(KvStore& store, int layer, int64_t first, int64_t begin, int64_t end);

}  // namespace longhaul
