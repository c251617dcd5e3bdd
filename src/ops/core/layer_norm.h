#pragma once
// Layer normalisation without a bias (Ba et al. 2016, arXiv:1607.06450).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// Computes y[r, i] = (x[r, i] - mean of row r) / sqrt(variance of row r + eps) * weight[i], on the
/// calling thread. x and y are contiguous arrays [rows, n]. y may be x.
void layer_norm(const float* x, const float* weight, float eps, int64_t rows, int64_t n, float* y);

/// Like layer_norm() above, for arrays in the memory of the queue.
void layer_norm(Queue& queue, View<const float> x, View<const float> weight, float eps,
                int64_t rows, int64_t n, View<float> y);
inline const DeviceOperation<bool(View<const float>, View<const float>, float, int64_t, int64_t,
                                  View<float>)>
    kLayerNorm;

}  // namespace longhaul
