#include "attention/kept_rows.h"

#include <algorithm>

namespace longhaul {

KeySegment all_rows(const KvStore& store, int layer, int list) {
  KeySegment keys;
  keys.rows = store.rows(layer, list);
  keys.count = store.length(layer, list);
  return keys;
}

void attend_kept_rows(LayerStep& step, std::vector<KeySegment>& segments) {
  const float* queries[] = {step.rotated_q()};
  const int dim = step.shape->head_dim;
  const int lists = step.store->layout().heads[static_cast<size_t>(step.layer)];
  const int per_head = lists / step.kv_heads;
  const int64_t window = step.shape->own_window(step.layer);
  segments.clear();
  for (int list = 0; list < lists; ++list) {
    const int from = list / per_head * dim;
    step.store->append(step.layer, list, step.rows, step.rotated_k() + from, step.v + from,
                       static_cast<int64_t>(step.kv_heads) * dim);
    KeySegment keys = all_rows(*step.store, step.layer, list);
    // Only the order counts: what was kept lies before the new rows, which end the list.
    keys.position = step.begin + step.rows - keys.count;
    if (window > 0) {
      keys.visible = Visibility::kWindow;
      keys.window = window;
      keys.begin = keys.position = std::max<int64_t>(0, step.begin - window + 1);
      keys.count -= keys.begin;
    }
    segments.push_back(keys);
  }
  step.attend(queries, segments, 1);
}

}  // namespace longhaul
