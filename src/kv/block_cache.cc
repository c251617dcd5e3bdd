#include "kv/block_cache.h"

#include <algorithm>

namespace longhaul {

void BlockCache::use_blocks(Queue& queue, KvStore& store, int layer, const BlockRange& range,
                            const RowList& chosen, int64_t cached) {
  if (!queue.on_host()) return;  // stores in device memory cannot offload pages
  const int64_t per_page = store.layout().page_rows;
  used_now_ = 0;
  missing_.clear();
  for (const int32_t block : host_rows(chosen)) {
    const int64_t begin = range.first + block * range.block;
    use(per_page, range, begin, begin + range.block);
  }
  const auto most = static_cast<size_t>(cached * store.layout().pages_for(range.block));
  spill(store, layer, std::max(most, used_now_));
  for (const int32_t page : missing_) {
    for (int head = 0; head < store.lists(layer); ++head) {
      store.load(layer, head, page * per_page, (page + 1) * per_page);
    }
  }
}

/// Marks the pages of rows [begin, end) as most recently used.
void BlockCache::use(int64_t per_page, const BlockRange& range, int64_t begin, int64_t end) {
  const int64_t from = std::max(begin / per_page, (range.first + per_page - 1) / per_page);
  const int64_t to = std::min((end + per_page - 1) / per_page, range.last / per_page);
  for (int64_t page = from; page < to; ++page) {
    const auto found = std::find(pages_.begin(), pages_.end(), static_cast<int32_t>(page));
    if (found != pages_.end()) {
      used_now_ += found < pages_.end() - static_cast<std::ptrdiff_t>(used_now_) ? 1 : 0;
      std::rotate(found, found + 1, pages_.end());
      continue;
    }
    pages_.push_back(static_cast<int32_t>(page));
    missing_.push_back(static_cast<int32_t>(page));
    ++used_now_;
  }
}

/// Offloads all pages in pages_ except the last `keep`.
void BlockCache::spill(KvStore& store, int layer, size_t keep) {
  if (pages_.size() <= keep) return;
  const int64_t per_page = store.layout().page_rows;
  const auto kept = pages_.end() - static_cast<std::ptrdiff_t>(keep);
  for (auto page = pages_.begin(); page != kept; ++page) {
    for (int head = 0; head < store.lists(layer); ++head) {
      store.spill(layer, head, *page * per_page, (*page + 1) * per_page);
    }
  }
  pages_.erase(pages_.begin(), kept);
}

void spill_whole_pages(KvStore& store, int layer, int64_t first, int64_t begin, int64_t end) {
  const int64_t from = std::max(begin - store.layout().page_rows + 1, first);
  if (begin == end || from >= end) return;
  for (int head = 0; head < store.lists(layer); ++head) store.spill(layer, head, from, end);
}

}  // namespace longhaul
