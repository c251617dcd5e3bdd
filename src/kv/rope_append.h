#pragma once
// New keys and values enter a layer's lists, keys rotated where they stand.

#include "kv/kv_store.h"
#include "ops/rope.h"

namespace longhaul {

/// Rotates key row r at position + r and appends it with its value to every list of the layer: one
/// per KV head, or a multiple of that, where each KV head feeds as many neighbouring lists. So are
/// the rows' queries rotated, where there are any. `rotated` is memory for rotated keys, where
/// these are made before they are appended.
void rope_append(Queue& queue, const Rotations& rotations, int64_t position, const NewRows& added,
                 KvStore& store, int layer, Array<float>& rotated);

}  // namespace longhaul
