#pragma once
// Merges the attention results over two disjoint sets of keys into the result of one softmax over
// both (Milakov and Gimelshein 2018, arXiv:1805.02867).

#include <cstdint>

#include "base/array.h"
#include "base/device_table.h"

namespace longhaul {

/// Merges two attention results. Before the call, out [rows, heads, head_dim] and lse [rows, heads]
/// (logs of the softmax denominators) hold the result over one set of keys. After the call, they
/// hold the result over both sets. If other_lse of a head of a row is -infinity, the head saw no
/// key of the other set: its result does not change, and its other_out is ignored. If lse of a head
/// is -infinity, the head gets the other result. In this case its `out` must be finite, which
/// attend() ensures.
void merge_attention(Queue& queue, View<const float> other_out, View<const float> other_lse,
                     int64_t rows, int heads, int head_dim, View<float> out, View<float> lse);
inline const DeviceOperation<bool(View<const float> other_out, View<const float> other_lse,
                                  int64_t rows, int heads, int head_dim, View<float> out,
                                  View<float> lse)>
    kMergeAttention;

}  // namespace longhaul
