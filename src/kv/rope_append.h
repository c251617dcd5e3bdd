#pragma once
// New keys and values enter a layer's lists, keys rotated where they stand.

#include "kv/kv_store.h"
#include "ops/rope.h"

namespace longhaul {

/// New rows of one layer, not rotated.
struct NewRows {
  int64_t rows = 0;
  int kv_heads = 0;
  View<const float> k, v;  ///< [rows, kv_heads, head_dim]
};

/// Rotates key row r at position + r and appends it with its value to every list of the layer: one
/// per KV head, or a multiple of that, where each KV head feeds as many neighbouring lists.
/// `rotated` is memory for rotated keys, where these are made before they are appended.
void rope_append(Queue& queue, const Rotations& rotations, int64_t position, const NewRows& added,
                 KvStore& store, int layer, Array<float>& rotated);

}  // namespace longhaul
