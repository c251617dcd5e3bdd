#include "attention/sink_recent.h"

#include <numeric>
#include <vector>

namespace longhaul {

void drop_middle(KvStore& store, int layer, int head, int64_t sink, int64_t recent) {
  const int64_t length = store.length(layer, head);
  const int64_t page = store.layout().page_rows;
  const int64_t dropped = (length - sink - recent) / page * page;
  if (dropped <= 0) return;
  std::vector<int32_t> kept(static_cast<size_t>(length - dropped));
  const auto middle = kept.begin() + static_cast<std::ptrdiff_t>(sink);
  std::iota(kept.begin(), middle, 0);
  std::iota(middle, kept.end(), static_cast<int32_t>(sink + dropped));
  store.keep(layer, head, kept);
}

void drop_middle(KvStore& store, int64_t sink, int64_t recent) {
  for (int layer = 0; layer < store.layout().layers(); ++layer) {
    const int heads = store.layout().heads[static_cast<size_t>(layer)];
    for (int head = 0; head < heads; ++head) drop_middle(store, layer, head, sink, recent);
  }
}

int64_t most_rows(const KvLayout& layout, int64_t sink, int64_t recent, int chunk) {
  return sink + recent + layout.page_rows - 1 + chunk;
}

}  // namespace longhaul
