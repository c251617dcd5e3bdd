#pragma once
// The gradient of root-mean-square normalisation (rms_norm.h) for weights that stay as they are.

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// From dy, the gradient with respect to y = rms_norm(x), that with respect to x. With
/// r = 1 / sqrt(mean over i of x[i]^2 + eps), row by row:
///   dx[i] = r * (weight[i] dy[i] - x[i] r^2 / n * sum over j of weight[j] x[j] dy[j])
/// All [rows, n] packed, weight [n]. `add`: dx += instead of dx =; else dx may be dy. The norm of
/// each query or key head is the same with rows = tokens * heads.
void rms_norm_backward(Queue& queue, View<const float> x, View<const float> weight, float eps,
                       View<const float> dy, int64_t rows, int64_t n, View<float> dx, bool add);

}  // namespace longhaul
