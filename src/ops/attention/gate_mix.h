#pragma once
// Mixes two attention results with a gate for every KV head (Xiao et al. 2024, arXiv:2410.10819,
// section 2.2), and computes the gradient of the gates.

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// Rows [rows, heads, head_dim] whose query heads share KV heads in contiguous groups.
struct GatedRows {
  int64_t rows = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;

  int group() const { return heads / kv_heads; }
  int64_t size() const { return rows * heads * head_dim; }
};

/// Computes out = gate * full + (1 - gate) * near, with `gates` [kv_heads]. `out` may alias either
/// input.
void mix_gated(Queue& queue, const GatedRows& shape, View<const float> gates,
               View<const float> full, View<const float> near, View<float> out);
inline const DeviceOperation<bool(const GatedRows&, View<const float> gates, View<const float> full,
                                  View<const float> near, View<float> out)>
    kMixGated;

/// Computes out = factor * x, with `factors` [kv_heads]. `out` may alias x.
void scale_heads(Queue& queue, const GatedRows& shape, View<const float> factors,
                 View<const float> x, View<float> out);
inline const DeviceOperation<bool(const GatedRows&, View<const float> factors, View<const float> x,
                                  View<float> out)>
    kScaleHeads;

/// Adds the sum of d_mixed * (full - near) over all rows of the KV head's query heads to sums
/// [kv_heads].
void add_gate_gradient(Queue& queue, const GatedRows& shape, View<const float> d_mixed,
                       View<const float> full, View<const float> near, View<float> sums);
inline const DeviceOperation<bool(const GatedRows&, View<const float> d_mixed,
                                  View<const float> full, View<const float> near, View<float> sums)>
    kAddGateGradient;

}  // namespace longhaul
