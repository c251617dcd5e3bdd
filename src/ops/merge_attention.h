#pragma once
// Attention over two disjoint sets of keys as one softmax over both (Milakov and
// Gimelshein 2018, arXiv:1805.02867).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// out [rows, heads, head_dim] and lse [rows, heads], of one set of keys, become those of both.
/// A row that saw nothing of a set (lse = -infinity) gets the other's result, whatever the other
/// set's numbers are.
void merge_attention(Queue& queue, View<const float> other_out, View<const float> other_lse,
                     int64_t rows, int heads, int head_dim, View<float> out, View<float> lse);

}  // namespace longhaul
