#pragma once
// Merges attention over two disjoint sets of keys into one softmax over both (Milakov and
// Gimelshein 2018, arXiv:1805.02867).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// Merges two attention results. out [rows, heads, head_dim] and lse [rows, heads] hold the result
/// over one set of keys and receive the result over both sets. If other_lse is -infinity for a
/// vector (one head of one row), it saw no key of the other set; its result does not change, and
/// its other_out is ignored. If its lse is -infinity, it gets the result of the other set. Its
/// `out` must be finite in this case, which attend() ensures.
void merge_attention(View<const float> other_out, View<const float> other_lse, int64_t rows,
                     int heads, int head_dim, View<float> out, View<float> lse);

}  // namespace longhaul
