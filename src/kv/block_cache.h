#pragma once
// BlockCache is an LRU cache of pages with old rows (a row is the key and the value of one token).
// Pages outside the cache are offloaded to disk. Only stores in host memory support this.

#include <cstdint>
#include <vector>

#include "kv/kv_store.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// The rows [first, last) of every list of a layer, divided into adjacent blocks of equal length. A
/// list holds the stored rows of one KV head.
struct BlockRange {
  int64_t first = 0, last = 0;
  int64_t block = 1;  ///< rows per block
};

/// The cache of one layer. All lists of the layer must hold the rows of the same tokens.
class BlockCache {
 public:
  /// Loads the pages of the blocks `chosen` (block numbers in `range`) into memory, and offloads
  /// the least recently used pages. In each list, at most as many pages stay in memory as `cached`
  /// blocks fill. If the chosen blocks alone have more pages, exactly their pages stay in memory.
  /// Pages with a row outside `range` are always in memory and are not counted. The function does
  /// nothing if the store is in device memory.
  void use_blocks(Queue& queue, KvStore& store, int layer, const BlockRange& range,
                  const RowList& chosen, int64_t cached);

 private:
  void use(int64_t page_rows, const BlockRange& range, int64_t begin, int64_t end);
  void spill(KvStore& store, int layer, size_t keep);

  std::vector<int32_t> pages_;  ///< numbers of the cached pages in memory, most recently used last
  std::vector<int32_t> missing_;  ///< numbers of the pages that the current call must load
  /// Number of pages of the chosen blocks; these pages are the last ones in pages_.
  size_t used_now_ = 0;
};

/// Offloads pages of rows that are no longer used, in every list of a layer. Rows [first, begin)
/// have been passed to earlier calls, and rows [begin, end) are new. Offloads the pages that lie
/// completely within [first, end) and contain at least one new row.
void spill_whole_pages(KvStore& store, int layer, int64_t first, int64_t begin, int64_t end);

}  // namespace longhaul
