// Single-thread kernels of ops/core/convert.h.

#include "ops/core/isa/small_floats.h"
#include "ops/core/mix_blocks.h"
#include "ops/core/row_kernels.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace longhaul::LH_ISA {
namespace {

void to_bf16(const float* x, int64_t count, bf16_t* y) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = bf16_of(x[i]);
}

void from_bf16(const bf16_t* x, int64_t count, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = float_from_bits(static_cast<uint32_t>(x[i]) << 16);
}

void to_f16(const float* x, int64_t count, f16_t* y) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), h);
  }
#endif
#pragma omp simd
  for (int64_t k = i; k < count; ++k) y[k] = f16_of(x[k]);
}

void from_f16(const f16_t* x, int64_t count, float* y) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(h));
  }
#endif
#pragma omp simd
  for (int64_t k = i; k < count; ++k) y[k] = f16_value(x[k]);
}

/// The largest magnitude of a block.
float largest(const float* x) {
  float amax = 0;
#pragma omp simd reduction(max : amax)
  for (int i = 0; i < 32; ++i) {
    const float a = __builtin_fabsf(x[i]);
    amax = a > amax ? a : amax;
  }
  return amax;
}

/// Divides by the stored scale, so that its rounding to f16 adds no error. The quotient may exceed
/// 127 slightly, or greatly if the scale is an f16 subnormal.
void quantize_block(const float* x, uint8_t* y) {
  const uint16_t scale = f16_of(largest(x) / 127.0f);
  const float stored = f16_value(scale);
  const float inverse = stored > 0 ? 1.0f / stored : 0.0f;
  std::memcpy(y, &scale, sizeof(scale));
  int32_t rounded[32];
#pragma omp simd
  for (int i = 0; i < 32; ++i) {
    float q = x[i] * inverse;
    q = q < 127.0f ? q : 127.0f;
    q = q > -127.0f ? q : -127.0f;
    rounded[i] = static_cast<int32_t>(bits_from_float(q + 12582912.0f) - 0x4b400000u);
  }
  for (int i = 0; i < 32; ++i) y[2 + i] = static_cast<uint8_t>(rounded[i]);
}

void to_q8_0(const float* x, int64_t count, std::byte* y) {
  auto* p = reinterpret_cast<uint8_t*>(y);
  for (int64_t i = 0; i < count; i += 32, p += 34) quantize_block(x + i, p);
}

/// Divides by the scale before its rounding to f16, as ggml does.
void quantize_block_q4_0(const float* x, uint8_t* y) {
  const float amax = largest(x);
  int at = 0;
  while (at < 31 && __builtin_fabsf(x[at]) != amax) ++at;
  const float scale = x[at] / -8.0f;
  const uint16_t stored = f16_of(scale);
  const float inverse = f16_value(stored) == 0 ? 0.0f : 1.0f / scale;  // avoids inf times zero
  std::memcpy(y, &stored, sizeof(stored));
  uint32_t level[32];
#pragma omp simd
  for (int i = 0; i < 32; ++i) {
    float q = x[i] * inverse;
    q = q < 7.0f ? q : 7.0f;
    q = q > -8.0f ? q : -8.0f;
    level[i] = bits_from_float(q + 12582920.0f) - 0x4b400000u;  // rounds q + 8
  }
  for (int i = 0; i < 16; ++i) y[2 + i] = static_cast<uint8_t>(level[i] | level[i + 16] << 4);
}

void to_q4_0(const float* x, int64_t count, std::byte* y) {
  auto* p = reinterpret_cast<uint8_t*>(y);
  for (int64_t i = 0; i < count; i += 32, p += 18) quantize_block_q4_0(x + i, p);
}

}  // namespace

const ConvertTable kConvert = {to_bf16, from_bf16, to_f16, from_f16, to_q8_0, to_q4_0, mix_blocks};

}  // namespace longhaul::LH_ISA
