#pragma once
// The gradient of root-mean-square normalisation (ops/core/rms_norm.h) with constant weights.

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// Computes dx, the gradient of the loss with respect to x, from dy, the gradient with respect to
/// y = rms_norm(x). In each row:
///   r = 1 / sqrt(mean over i of x[i]^2 + eps)
///   dx[i] = r * (weight[i] dy[i] - x[i] r^2 / n * sum over j of weight[j] x[j] dy[j])
/// x, dy and dx are contiguous arrays [rows, n], and weight is [n]. If `add` is true, the gradient
/// is added to dx. Otherwise it replaces dx, which may alias dy. To differentiate the normalisation
/// of each query or key head, pass rows = tokens * heads.
void rms_norm_backward(Queue& queue, View<const float> x, View<const float> weight, float eps,
                       View<const float> dy, int64_t rows, int64_t n, View<float> dx, bool add);
inline const DeviceOperation<bool(View<const float> x, View<const float> weight, float eps,
                                  View<const float> dy, int64_t rows, int64_t n, View<float> dx,
                                  bool add)>
    kRmsNormBackward;

}  // namespace longhaul
