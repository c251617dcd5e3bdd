#pragma once
// Merges attention over two disjoint sets of keys into one softmax over both (Milakov and
// Gimelshein 2018, arXiv:1805.02867).

#include <cstdint>

#include "base/array.h"
#include "base/device_table.h"

namespace longhaul {

/// Merges two attention results. out [rows, heads, head_dim] and lse [rows, heads], the logs of the
/// softmax denominators, hold the result over one set of keys and receive the result over both
/// sets. A vector is one head of one row. If other_lse of a vector is -infinity, the vector saw no
/// key of the other set. The result of the vector then does not change, and other_out is ignored.
/// If lse of a vector is -infinity, the vector gets the result of the other set. In this case its
/// `out` must be finite, which attend() ensures.
void merge_attention(Queue& queue, View<const float> other_out, View<const float> other_lse,
                     int64_t rows, int heads, int head_dim, View<float> out, View<float> lse);
inline const DeviceOperation<bool(View<const float> other_out, View<const float> other_lse,
                                  int64_t rows, int heads, int head_dim, View<float> out,
                                  View<float> lse)>
    kMergeAttention;

}  // namespace longhaul
