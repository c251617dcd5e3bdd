#pragma once
// Converts f32 activations to ActivationGroups (matvec.h).

#include <cstring>

#include "ops/core/isa/small_floats.h"
#include "ops/matmul/matvec.h"

namespace longhaul::LH_ISA {
namespace {

/// Quantizes block `b` of 32 elements of a group. x holds `count` elements, and the others are
/// zeros. Elements are rounded to nearest even at every instruction-set level. After the addition
/// of 1.5 * 2^23, the low bits of a float are the rounded integer.
inline void quantize_block(const float* x, int count, int b, ActivationGroup& g) {
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
  // The inverse of a smaller number would overflow.
  const float inverse = amax > 1e-36f ? 127.0f / amax : 0.0f;
  uint32_t rounded[32];  // NaN or infinity, caused by corrupt weights, may give any number
#pragma omp simd
  for (int i = 0; i < 32; ++i) {
    float shifted = x[i] * inverse;
    shifted += 12582912.0f;
    rounded[i] = bits_from_float(shifted) - 0x4b400000u;
  }
  uint32_t sums[2] = {0, 0};
  for (int i = 0; i < 16; ++i) sums[0] += rounded[i];
  for (int i = 0; i < 16; ++i) sums[1] += rounded[16 + i];
  int8_t* const q = g.q + 32 * b;
  for (int i = 0; i < 32; ++i) q[i] = static_cast<int8_t>(rounded[i]);
  const float scale = amax / 127.0f;
  for (int i = 0; i < 2; ++i) {
    const int run = 2 * b + i;
    g.scale[run] = scale;
    g.sum[run] = scale * static_cast<float>(static_cast<int32_t>(sums[i]));
    g.start[run] = static_cast<int32_t>(sums[i] * -128u);
    for (int k = 0; k < 4; ++k) {
      std::memcpy(g.columns + 64 * k + 4 * run, q + 16 * i + 4 * k, 4);
    }
  }
}

inline void quantize_groups(const float* x, int64_t cols, ActivationGroup* groups) {
  const int64_t blocks = (cols + 255) / 256 * 8;
  for (int64_t b = 0; b < blocks; ++b) {
    ActivationGroup& g = groups[b / 8];
    const int64_t left = cols - 32 * b;
    const int count = left >= 32 ? 32 : left > 0 ? static_cast<int>(left) : 0;
    quantize_block(x + 32 * b, count, static_cast<int>(b % 8), g);
  }
}

}  // namespace
}  // namespace longhaul::LH_ISA
