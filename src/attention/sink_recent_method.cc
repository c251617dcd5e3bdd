#include "attention/sink_recent_method.h"

#include <algorithm>

#include "attention/restored_lists.h"
#include "attention/sink_recent.h"

namespace longhaul {

void SinkRecentMethod::retain(KvStore& store, const Pass&, bool) {
  drop_middle(store, sink_, recent_);
}

size_t SinkRecentMethod::most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const {
  return layout.bytes_for(std::min(tokens, most_rows(layout, sink_, recent_, chunk)));
}

void SinkRecentMethod::check_restored(const KvStore& store, int64_t) const {
  for (int l = 0; l < store.layout().layers(); ++l) expect_equal_lists(store, l);
}

}  // namespace longhaul
