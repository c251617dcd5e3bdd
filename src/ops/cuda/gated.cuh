#pragma once
// The gated activation of a feed-forward network (ops/swiglu.h), one number at a time.

#include <cmath>

#include "ops/swiglu.h"

namespace longhaul::cuda {

/// Gating with bounds that are infinite where there is none.
struct Gated {
  float slope, cubic, limit, shift;

  static Gated of(const Gating& g) {
    return {g.slope, g.cubic, g.limit > 0 ? g.limit : INFINITY, g.shift};
  }
  __device__ float operator()(float gate, float up) const {
    const float g = gate > limit ? limit : gate;
    const float u = up > limit ? limit : up < -limit ? -limit : up;
    return g / (1.0f + expf(-slope * (g + cubic * g * g * g))) * (u + shift);
  }
};

}  // namespace longhaul::cuda
