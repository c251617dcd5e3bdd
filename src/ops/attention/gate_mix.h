#pragma once
// Mixes two attention results with one gate per KV head, and computes the gradient of the gates
// (DuoAttention: Xiao et al. 2024, arXiv:2410.10819, section 2.2). `full` is the result over all
// keys. `near` is the result over the first and the most recent keys (streaming attention).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// The shape [rows, heads, head_dim] of attention results. Contiguous groups of query heads share a
/// KV head.
struct GatedRows {
  int64_t rows = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;

  int group() const { return heads / kv_heads; }
  int64_t size() const { return rows * heads * head_dim; }
};

/// Computes out = gate * full + (1 - gate) * near. `gates` [kv_heads] has one gate for all query
/// heads of a KV head. `out` may alias either input.
void mix_gated(Queue& queue, const GatedRows& shape, View<const float> gates,
               View<const float> full, View<const float> near, View<float> out);
inline const DeviceOperation<bool(const GatedRows&, View<const float> gates, View<const float> full,
                                  View<const float> near, View<float> out)>
    kMixGated;

/// Computes out = factor * x. `factors` [kv_heads] has one factor for all query heads of a KV head.
/// `out` may alias x.
void scale_heads(Queue& queue, const GatedRows& shape, View<const float> factors,
                 View<const float> x, View<float> out);
inline const DeviceOperation<bool(const GatedRows&, View<const float> factors, View<const float> x,
                                  View<float> out)>
    kScaleHeads;

/// Adds the gradient of the loss with respect to each gate to sums [kv_heads]. The gradient is the
/// sum of d_mixed * (full - near) over all rows and all query heads of the KV head. d_mixed is the
/// gradient of the loss with respect to the output of mix_gated().
void add_gate_gradient(Queue& queue, const GatedRows& shape, View<const float> d_mixed,
                       View<const float> full, View<const float> near, View<float> sums);
inline const DeviceOperation<bool(const GatedRows&, View<const float> d_mixed,
                                  View<const float> full, View<const float> near, View<float> sums)>
    kAddGateGradient;

}  // namespace longhaul
