#pragma once
// The gated activation of a feed-forward network (ops/core/swiglu.h) for one element.

#include <cmath>

#include "ops/core/swiglu.h"

namespace longhaul::cuda {

/// The parameters of Gating for a kernel. A missing limit becomes infinite.
struct Gated {
  float slope, cubic, limit, shift;

  static Gated of(const Gating& g) {
    return {g.slope, g.cubic, g.limit > 0 ? g.limit : INFINITY, g.shift};
  }
  __device__ float operator()(float gate, float up) const {
    const float g = clipped(gate);
    return g / (1.0f + expf(exponent(g))) * shifted(up);
  }
  /// Returns operator()(gate, up) with a relative error of 1e-5, which suffices for results that
  /// are rounded to bf16.
  __device__ float roughly(float gate, float up) const {
    const float g = clipped(gate);
    return __fdividef(g, 1.0f + __expf(exponent(g))) * shifted(up);
  }

 private:
  __device__ float clipped(float gate) const { return gate > limit ? limit : gate; }
  __device__ float exponent(float g) const { return -slope * (g + cubic * g * g * g); }
  __device__ float shifted(float up) const {
    return (up > limit ? limit : up < -limit ? -limit : up) + shift;
  }
};

}  // namespace longhaul::cuda
