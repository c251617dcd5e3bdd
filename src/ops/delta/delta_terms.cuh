#pragma once
// Terms of the gated delta rule that several kernels use.

#include <cmath>

#include "ops/delta/delta.gpu.h"

namespace longhaul::cuda {

__device__ inline float delta_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__device__ inline int key_head_of(const DeltaSizes& s, int head) {
  return s.tiled ? head % s.key_heads : head / s.shared;
}

/// Returns the logarithm of the decay of the state in a row and value head.
__device__ inline float log_decay(const DeltaAddresses& at, const DeltaSizes& s, int64_t row,
                                  int head) {
  const float x = at.alpha[row * s.value_heads + head] + at.dt_bias[head];
  return at.rate[head] * (x > 20.0f ? x : log1pf(expf(x)));
}

__device__ inline float share_of(const DeltaAddresses& at, const DeltaSizes& s, int64_t row,
                                 int head) {
  return delta_sigmoid(at.beta[row * s.value_heads + head]);
}

}  // namespace longhaul::cuda
