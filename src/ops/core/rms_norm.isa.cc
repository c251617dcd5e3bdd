// Kernel of ops/core/rms_norm.h for one row.

#include "ops/core/isa/simd.h"
#include "ops/core/isa/small_floats.h"
#include "ops/core/row_kernels.h"

namespace longhaul::LH_ISA {
namespace {

float inverse_rms(const float* x, float eps, int64_t n) {
  Vec even = {}, odd = {};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Vec a = load(x + i), b = load(x + i + kLanes);
    even = fma(a, a, even);
    odd = fma(b, b, odd);
  }
  float sum = reduce_add(even + odd);
  for (; i < n; ++i) sum += x[i] * x[i];
  return 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + eps);
}

void to_f32(const float* x, const float* weight, float eps, int64_t n, float* y) {
  const float scale = inverse_rms(x, eps, n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale * weight[i];
}

void to_bf16(const float* x, const float* weight, float eps, int64_t n, bf16_t* y) {
  const float scale = inverse_rms(x, eps, n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = bf16_of(x[i] * scale * weight[i]);
}

}  // namespace

const RmsNormTable kRmsNorm = {to_f32, to_bf16};

}  // namespace longhaul::LH_ISA
