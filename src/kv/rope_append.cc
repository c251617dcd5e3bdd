#include "kv/rope_append.h"

namespace longhaul {

void rope_append(Queue& queue, const Rotations& rotations, int64_t position, const NewRows& added,
                 KvStore& store, int layer, Array<float>& rotated) {
  const int head_dim = store.layout().head_dim;
  const int64_t size = added.rows * added.kv_heads * head_dim;
  if (store.append_rotated(layer, added, rotations, position)) return;
  const View<float> keys = rotated.resize(queue, size);
  apply_rope(queue, rotations, position, added.k, added.rows, added.kv_heads, head_dim, keys);
  store.append(layer, added.rows, keys, added.v.part(0, size));
  if (added.rotated_q.empty()) return;
  const auto heads = static_cast<int>(added.q.size() / added.rows / head_dim);
  apply_rope(queue, rotations, position, added.q, added.rows, heads, head_dim, added.rotated_q);
}

}  // namespace longhaul
