#pragma once
// Sixteen f32 lanes, in the registers of whichever ISA level this header is compiled for.
// For *.isa.cc only; everything is inside the level's namespace.

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#ifndef LH_ISA
#error "simd.h belongs in a *.isa.cc source"
#endif

namespace longhaul::LH_ISA {

typedef float V16 __attribute__((vector_size(64)));
typedef uint32_t U16 __attribute__((vector_size(64)));
typedef uint16_t H16 __attribute__((vector_size(32)));

static inline V16 splat(float x) { return V16{} + x; }

static inline V16 load(const float* p) {
  V16 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

static inline void store(float* p, V16 v) { std::memcpy(p, &v, sizeof v); }

static inline V16 fma(V16 a, V16 b, V16 c) {
#if defined(__AVX512F__)
  return (V16)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  __m256 r[2], x[2], y[2], z[2];
  std::memcpy(x, &a, 64), std::memcpy(y, &b, 64), std::memcpy(z, &c, 64);
  for (int i = 0; i < 2; ++i) r[i] = _mm256_fmadd_ps(x[i], y[i], z[i]);
  V16 v;
  std::memcpy(&v, r, 64);
  return v;
#else
  return a * b + c;
#endif
}

static inline V16 max(V16 a, V16 b) {
#if defined(__AVX512F__)
  return (V16)_mm512_max_ps((__m512)a, (__m512)b);
#else
  return a > b ? a : b;
#endif
}

static inline float reduce_max(V16 v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)v);
#else
  float m = v[0];
  for (int i = 1; i < 16; ++i) m = v[i] > m ? v[i] : m;
  return m;
#endif
}

static inline float reduce_add(V16 v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)v);
#else
  float s = 0;
  for (int i = 0; i < 16; ++i) s += v[i];
  return s;
#endif
}

/// 2^x for x <= 0 (or slightly above); relative error 3e-7, 0 below -126.
static inline V16 exp2_precise(V16 x) {
#if defined(__AVX512F__)
  const __m512 f = _mm512_reduce_ps((__m512)x, 0x08);  // x - round(x), in [-0.5, 0.5]
  const __m512 n = _mm512_sub_ps((__m512)x, f);
#else
  const V16 clamped = max(x, splat(-127.0f));
  const V16 magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const V16 n = (clamped + magic) - magic;
  const V16 f = clamped - n;
#endif
  V16 p = splat(1.5403530e-4f);
  p = fma(p, (V16)f, splat(1.3333558e-3f));
  p = fma(p, (V16)f, splat(9.6181291e-3f));
  p = fma(p, (V16)f, splat(5.5504109e-2f));
  p = fma(p, (V16)f, splat(2.4022651e-1f));
  p = fma(p, (V16)f, splat(6.9314718e-1f));
  p = fma(p, (V16)f, splat(1.0f));
#if defined(__AVX512F__)
  return (V16)_mm512_scalef_ps((__m512)p, n);
#else
  typedef int32_t I16 __attribute__((vector_size(64)));
  const I16 exponent = (__builtin_convertvector(n, I16) + 127) << 23;
  V16 power;
  std::memcpy(&power, &exponent, 64);
  return x < -126.0f ? splat(0.0f) : p * power;
#endif
}

/// 2^x for x <= 0 with relative error 8e-5: enough where the result is rounded to bf16.
static inline V16 exp2_for_bf16(V16 x) {
#if defined(__AVX512F__)
  const V16 f = (V16)_mm512_reduce_ps((__m512)x, 0x09);  // x - floor(x); scalef floors again
  V16 p = splat(7.80245250e-2f);
  p = fma(p, f, splat(2.26067177e-1f));
  p = fma(p, f, splat(6.95833519e-1f));
  p = fma(p, f, splat(9.99925222e-1f));
  return (V16)_mm512_scalef_ps((__m512)p, (__m512)x);
#else
  return exp2_precise(x);
#endif
}

static inline V16 load_bf16(const uint16_t* p) {
  H16 h;
  std::memcpy(&h, p, sizeof h);
  const U16 u = __builtin_convertvector(h, U16) << 16;
  V16 v;
  std::memcpy(&v, &u, sizeof v);
  return v;
}

static inline V16 load_f16(const uint16_t* p) {
#if defined(__AVX512F__)
  return (V16)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__F16C__)
  __m256 r[2];
  for (int i = 0; i < 2; ++i) {
    r[i] = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i));
  }
  V16 v;
  std::memcpy(&v, r, 64);
  return v;
#else
  // value = (exponent and mantissa moved into place) * 2^112, exact for subnormals too
  H16 h;
  std::memcpy(&h, p, sizeof h);
  const U16 wide = __builtin_convertvector(h, U16);
  const U16 magnitude = (wide & 0x7fffu) << 13;
  V16 value;
  std::memcpy(&value, &magnitude, 64);
  value *= 0x1p112f;
  U16 bits;
  std::memcpy(&bits, &value, 64);
  const U16 special = (U16)((wide & 0x7c00u) == 0x7c00u);
  bits = ((special & (magnitude | 0x7f800000u)) | (~special & bits)) | ((wide & 0x8000u) << 16);
  std::memcpy(&value, &bits, 64);
  return value;
#endif
}

/// Round to nearest even; NaN is not expected here.
static inline void store_bf16(uint16_t* p, V16 v) {
#if defined(__AVX512BF16__)
  const __m256bh h = _mm512_cvtneps_pbh((__m512)v);
  std::memcpy(p, &h, 32);
#else
  U16 u;
  std::memcpy(&u, &v, 64);
  u = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const H16 h = __builtin_convertvector(u, H16);
  std::memcpy(p, &h, 32);
#endif
}

}  // namespace longhaul::LH_ISA
