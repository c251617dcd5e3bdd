#pragma once
// The gradient of root-mean-square normalisation (rms_norm.h) with frozen weights.

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// Computes dx from dy, the gradients with respect to x and y = rms_norm(x). With r = 1 / sqrt(mean
/// over i of x[i]^2 + eps), row by row:
///   dx[i] = r * (weight[i] dy[i] - x[i] r^2 / n * sum over j of weight[j] x[j] dy[j])
/// All are [rows, n] packed, weight [n]. With `add`, dx += instead of dx =; otherwise dx may alias
/// dy. For the norm of each query or key head, use rows = tokens * heads.
void rms_norm_backward(Queue& queue, View<const float> x, View<const float> weight, float eps,
                       View<const float> dy, int64_t rows, int64_t n, View<float> dx, bool add);
inline const DeviceOperation<bool(View<const float> x, View<const float> weight, float eps,
                                  View<const float> dy, int64_t rows, int64_t n, View<float> dx,
                                  bool add)>
    kRmsNormBackward;

}  // namespace longhaul
