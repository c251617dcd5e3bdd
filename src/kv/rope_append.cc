#include "kv/rope_append.h"

namespace longhaul {

void rope_append(Queue& queue, const Rotations& rotations, int64_t position, const NewRows& added,
                 KvStore& store, int layer, Array<float>& rotated) {
  const int head_dim = store.layout().head_dim;
  const int64_t size = added.rows * added.kv_heads * head_dim;
  const View<const float> values = added.v.part(0, size);
  if (store.append_rotated(layer, added.rows, added.k.part(0, size), values, rotations, position)) {
    return;
  }
  const View<float> keys = rotated.resize(queue, size);
  apply_rope(queue, rotations, position, added.k, added.rows, added.kv_heads, head_dim, keys);
  store.append(layer, added.rows, keys, values);
}

}  // namespace longhaul
