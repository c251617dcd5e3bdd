#pragma once
// Merges attention over two disjoint sets of keys into one softmax over both (Milakov and
// Gimelshein 2018, arXiv:1805.02867).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// Updates out [rows, heads, head_dim] and lse [rows, heads] of one set to the result over both
/// sets. A row with other_lse = -infinity sees no key of the other set; it does not change, and
/// other_out is ignored. A row with lse = -infinity gets the result of the other set. Its `out`
/// must be finite, which attend() ensures.
void merge_attention(View<const float> other_out, View<const float> other_lse, int64_t rows,
                     int heads, int head_dim, View<float> out, View<float> lse);

}  // namespace longhaul
