#pragma once
// Appends new keys and values to a layer's lists and rotates keys to their positions.

#include "kv/kv_store.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// Rotates key row r to position + r and appends it with its value to every list of the layer.
/// There is one list per KV head, or a multiple, in which case each KV head writes to as many
/// neighbouring lists. The rows' queries, if any, are rotated too. `rotated` is memory for keys
/// that are rotated before they are appended.
void rope_append(Queue& queue, const Rotations& rotations, int64_t position, const NewRows& added,
                 KvStore& store, int layer, Array<float>& rotated);

}  // namespace longhaul
