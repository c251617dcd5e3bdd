#pragma once
// Converts f32 activations to int8 groups.

#include "ops/core/isa/small_floats.h"
#include "ops/matmul/matvec.h"

namespace longhaul::LH_ISA {
namespace {

/// Quantizes one block of 32, or its first `count` values followed by zeros. Rounding is to nearest
/// even at every level: adding 1.5 * 2^23 leaves the integer in the low bits.
inline void quantize_block(const float* x, int count, int8_t* q, float* scale, float* sum) {
  float padded[32] = {};
  if (count < 32) {
    for (int i = 0; i < count; ++i) padded[i] = x[i];
    x = padded;
  }
  float amax = 0;
#pragma omp simd reduction(max : amax)
  for (int i = 0; i < 32; ++i) {
    const float a = __builtin_fabsf(x[i]);
    amax = a > amax ? a : amax;
  }
  // smaller values would overflow the inverse
  const float inverse = amax > 1e-36f ? 127.0f / amax : 0.0f;
  uint32_t rounded[32];  // NaN or infinity (corrupt weights) may give any value and wrap around
#pragma omp simd
  for (int i = 0; i < 32; ++i) {
    float shifted = x[i] * inverse;
    shifted += 12582912.0f;
    rounded[i] = bits_from_float(shifted) - 0x4b400000u;
  }
  uint32_t sums[2] = {0, 0};
  for (int i = 0; i < 16; ++i) sums[0] += rounded[i];
  for (int i = 0; i < 16; ++i) sums[1] += rounded[16 + i];
  for (int i = 0; i < 32; ++i) q[i] = static_cast<int8_t>(rounded[i]);
  const float s = amax / 127.0f;
  scale[0] = scale[1] = s;
  sum[0] = s * static_cast<float>(static_cast<int32_t>(sums[0]));
  sum[1] = s * static_cast<float>(static_cast<int32_t>(sums[1]));
}

inline void quantize_groups(const float* x, int64_t cols, ActivationGroup* groups) {
  const int64_t blocks = (cols + 255) / 256 * 8;
  for (int64_t b = 0; b < blocks; ++b) {
    ActivationGroup& g = groups[b / 8];
    const int64_t left = cols - 32 * b;
    const int count = left >= 32 ? 32 : left > 0 ? static_cast<int>(left) : 0;
    const int64_t at = b % 8;
    quantize_block(x + 32 * b, count, g.q + 32 * at, g.scale + 2 * at, g.sum + 2 * at);
  }
}

}  // namespace
}  // namespace longhaul::LH_ISA
