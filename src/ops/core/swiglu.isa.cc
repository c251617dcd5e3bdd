// Kernel of ops/core/swiglu.h for one row.

#include "ops/core/isa/exponential.h"
#include "ops/core/isa/small_floats.h"
#include "ops/core/row_kernels.h"

namespace longhaul::LH_ISA {
namespace {

/// For gates below -88.5 the exponential is clamped; the result is below 1e-38 of the gate instead
/// of zero.
inline float silu_times(float gate, float up) {
  return gate / (1.0f + exp_of(clamped(-gate))) * up;
}

/// Any gating, with infinite bounds if it has none.
struct Bounded {
  float slope, cubic, limit, shift;
  explicit Bounded(const Gating& g)
      : slope(g.slope), cubic(g.cubic), limit(g.limit > 0 ? g.limit : 3.4e38f), shift(g.shift) {}

  float operator()(float gate, float up) const {
    const float g = gate < limit ? gate : limit;
    const float below = up < limit ? up : limit, u = below > -limit ? below : -limit;
    const float s = slope * (g + cubic * g * g * g);
    return g / (1.0f + exp_of(clamped(-s))) * (u + shift);
  }
};

void to_f32(const Gating& gating, const float* gate, const float* up, int64_t n, float* y) {
  if (!(gating == Gating{})) {
    const Bounded gated(gating);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = gated(gate[i], up[i]);
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = silu_times(gate[i], up[i]);
}

void to_bf16(const Gating& gating, const float* gate, const float* up, int64_t n, bf16_t* y) {
  if (!(gating == Gating{})) {
    const Bounded gated(gating);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = bf16_of(gated(gate[i], up[i]));
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = bf16_of(silu_times(gate[i], up[i]));
}

}  // namespace

const SwigluTable kSwiglu = {to_f32, to_bf16};

}  // namespace longhaul::LH_ISA
