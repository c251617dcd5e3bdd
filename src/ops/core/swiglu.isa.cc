// Kernel of ops/core/swiglu.h for one row.

#include "ops/core/isa/small_floats.h"
#include "ops/core/row_kernels.h"

namespace longhaul::LH_ISA {
namespace {

/// e^x for -87 <= x <= 88.5: 2^n e^r with x = n ln 2 + r and a polynomial for e^r, |r| <= ln 2 / 2.
/// Relative error below 1.2e-7.
inline float exp_of(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: n in the low bits
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return float_from_bits(bits_from_float(p) + (bits_from_float(shifted) << 23));
}

/// max(-87, min(x, 88.5)) on the bits. As integers negative floats are negative, and as unsigned
/// integers they grow with their magnitude. Comparisons of floats would become branches, and the
/// compiler would then divide by the constant e^88.5 in every lane. Such quotients are subnormal,
/// which is a hundred times slower.
inline float clamped(float x) {
  const auto bits = static_cast<int32_t>(bits_from_float(x));
  const auto below = static_cast<uint32_t>(bits < 0x42b10000 ? bits : 0x42b10000);
  return float_from_bits(below < 0xc2ae0000u ? below : 0xc2ae0000u);
}

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
