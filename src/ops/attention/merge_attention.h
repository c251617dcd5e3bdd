#pragma once
// Attention over two disjoint sets of keys as one softmax over both (Milakov and
// Gimelshein 2018, arXiv:1805.02867).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// out [rows, heads, head_dim] and lse [rows, heads], of one set of keys, become those of both.
/// A row whose other_lse is -infinity saw nothing there and stays as it is, whatever other_out
/// holds; one whose lse is -infinity gets the other's result, and its `out` is finite, as attend()
/// leaves it.
void merge_attention(View<const float> other_out, View<const float> other_lse, int64_t rows,
                     int heads, int head_dim, View<float> out, View<float> lse);

}  // namespace longhaul
