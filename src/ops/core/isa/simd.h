#pragma once
// The type Vec: a vector of f32 that fills one register, with kLanes lanes (16, 8 or 4) at the ISA
// level at which this header is compiled. Include this only in *.isa.cc files, which are compiled
// once per instruction set. All names are in the namespace of the level.

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#ifndef LH_ISA
#error "simd.h belongs in a *.isa.cc source"
#endif

namespace longhaul::LH_ISA {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif
typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef int32_t IntVec __attribute__((vector_size(4 * kLanes)));

/// Prevents the compiler from keeping a separate pointer for each fixed offset from p. A matrix
/// product reads at one offset per row, and there are more rows than registers.
template <class T>
static inline void keep_one_pointer(const T*& p) {
  asm("" : "+r"(p));
}

// Returns a vector with x in every lane. The subtraction of zeros converts x to a vector. The
// compiler drops it, because x - 0 is x for every x. It could not drop an addition, because -0 + 0
// is not -0.
static inline Vec splat(float x) { return x - Vec{}; }

static inline Vec fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
  return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}

static inline Vec max(Vec a, Vec b) {
#if defined(__AVX512F__)
  return (Vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (Vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return a > b ? a : b;
#endif
}

static inline float reduce_max(Vec v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)v);
#else
  float m = v[0];
  for (int i = 1; i < kLanes; ++i) m = v[i] > m ? v[i] : m;
  return m;
#endif
}

static inline float reduce_add(Vec v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)v);
#elif defined(__AVX2__)
  const __m128 h =
      _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
  const __m128 q = _mm_add_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
#else
  return (v[0] + v[2]) + (v[1] + v[3]);
#endif
}

static inline Vec load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

static inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }

/// Loads the first `count` of kLanes floats. The other lanes become zero, and their memory is not
/// read.
static inline Vec load_first(const float* p, int count) {
#if defined(__AVX512F__)
  return (Vec)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p);
#else
  Vec v = {};
  if (count >= kLanes) return load(p);
  std::memcpy(&v, p, sizeof(float) * static_cast<size_t>(count));
  return v;
#endif
}

static inline void store_first(float* p, int count, Vec v) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), (__m512)v);
#else
  if (count >= kLanes) return store(p, v);
  std::memcpy(p, &v, sizeof(float) * static_cast<size_t>(count));
#endif
}

/// Returns a vector whose lane j is the maximum of x[j], x[j + kLanes], x[j + 2 * kLanes] and so
/// on. `count`, the size of x, is a multiple of 2 * kLanes.
static inline Vec lane_max(const float* x, int count) {
  Vec a = load(x), b = load(x + kLanes);
  for (int j = 2 * kLanes; j < count; j += 2 * kLanes) {
    a = max(a, load(x + j));
    b = max(b, load(x + j + kLanes));
  }
  return max(a, b);
}

struct Add {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
};

/// Reduces kLanes vectors at once: lane i of the result is the sum or maximum (Op) of all lanes of
/// in[i].
template <class Op>
static inline Vec reduce_lanes(const Vec in[kLanes]) {
#if defined(__AVX512F__)
  __m512 t[8], u[4], w[2];
  for (int i = 0; i < 8; ++i) {  // combines vectors i and i + 8: folds the halves of each
    const __m512 a = (__m512)in[i], b = (__m512)in[i + 8];
    t[i] = Op::of(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  }
  for (int i = 0; i < 4; ++i) {  // combines i and i + 4: folds quarters
    u[i] = Op::of(_mm512_shuffle_f32x4(t[i], t[i + 4], 0x88),
                  _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd));
  }
  for (int i = 0; i < 2; ++i) {  // combines i and i + 2: a 128-bit lane now holds i, i+8, i+4, i+12
    w[i] = Op::of(_mm512_shuffle_ps(u[i], u[i + 2], 0x44), _mm512_shuffle_ps(u[i], u[i + 2], 0xee));
  }
  const __m512 all =
      Op::of(_mm512_shuffle_ps(w[0], w[1], 0x88), _mm512_shuffle_ps(w[0], w[1], 0xdd));
  // Each 128-bit lane now holds the results of vectors a, a+2, a+1, a+3, for a = 0, 8, 4, 12.
  const __m512i order = _mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15);
  return (Vec)_mm512_permutexvar_ps(order, all);
#elif defined(__AVX2__)
  __m256 t[4], u[4];
  for (int i = 0; i < 4; ++i) {  // combines vectors i and i + 4: folds the halves of each
    const __m256 a = (__m256)in[i], b = (__m256)in[i + 4];
    t[i] = Op::of(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  }
  for (int i = 0; i < 2; ++i) {  // combines i and i + 2
    u[i] = Op::of(_mm256_shuffle_ps(t[i], t[i + 2], 0x44), _mm256_shuffle_ps(t[i], t[i + 2], 0xee));
  }
  const __m256 all =
      Op::of(_mm256_shuffle_ps(u[0], u[1], 0x88), _mm256_shuffle_ps(u[0], u[1], 0xdd));
  // Each half now holds the results of vectors a, a+2, a+1, a+3, for a = 0, 4.
  return (Vec)_mm256_permutevar8x32_ps(all, _mm256_setr_epi32(0, 2, 1, 3, 4, 6, 5, 7));
#else
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    lanes[i] = in[i][0];
    for (int j = 1; j < kLanes; ++j) lanes[i] = Op::of(lanes[i], in[i][j]);
  }
  Vec v;
  std::memcpy(&v, lanes, sizeof v);
  return v;
#endif
}

static inline float first_lane(Vec v) {
  float x;
  std::memcpy(&x, &v, sizeof x);
  return x;
}

/// Returns 2^x for x < 127, with a relative error of 3e-7. Returns 0 for x below -126.
static inline Vec exp2_precise(Vec x) {
#if defined(__AVX512F__)
  const Vec f = (Vec)_mm512_reduce_ps((__m512)x, 0x08);  // x - round(x), in [-0.5, 0.5]
  const Vec n = x - f;
#else
  const Vec magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Vec clamped = max(x, splat(-127.0f));
  const Vec n = (clamped + magic) - magic;
  const Vec f = clamped - n;
#endif
  Vec p = splat(1.5403530e-4f);
  p = fma(p, f, splat(1.3333558e-3f));
  p = fma(p, f, splat(9.6181291e-3f));
  p = fma(p, f, splat(5.5504109e-2f));
  p = fma(p, f, splat(2.4022651e-1f));
  p = fma(p, f, splat(6.9314718e-1f));
  p = fma(p, f, splat(1.0f));
#if defined(__AVX512F__)
  return (Vec)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
  const IntVec exponent = (__builtin_convertvector(n, IntVec) + 127) << 23;
  return x < -126.0f ? Vec{} : p * (Vec)exponent;
#endif
}

/// Returns 2^x for x <= 0, with a relative error of 8e-5. This suffices for results that are
/// rounded to bf16.
static inline Vec exp2_for_bf16(Vec x) {
#if defined(__AVX512F__)
  // f is x - floor(x). scalef multiplies by 2^floor(x).
  const Vec f = (Vec)_mm512_reduce_ps((__m512)x, 0x09);
  Vec p = splat(7.80245250e-2f);
  p = fma(p, f, splat(2.26067177e-1f));
  p = fma(p, f, splat(6.95833519e-1f));
  p = fma(p, f, splat(9.99925222e-1f));
  return (Vec)_mm512_scalef_ps((__m512)p, (__m512)x);
#else
  return exp2_precise(x);
#endif
}

static inline float bf16_lane(const uint16_t* p) {
  uint16_t h;
  std::memcpy(&h, p, sizeof h);
  const uint32_t bits = static_cast<uint32_t>(h) << 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

static inline Vec load_bf16(const uint16_t* p) {
#if defined(__AVX512F__)
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return (Vec)_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
#elif defined(__AVX2__)
  const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return (Vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16);
#else
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = bf16_lane(p + i);
  return load(lanes);
#endif
}

static inline Vec load_f16(const uint16_t* p) {
#if defined(__AVX512F__)
  return (Vec)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__F16C__)
  return (Vec)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#else
  // The f16 exponent and mantissa, moved to their places in f32, form the value times 2^-112. The
  // multiplication by 2^112 is exact, also for subnormals.
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    uint16_t h;
    std::memcpy(&h, p + i, sizeof h);
    uint32_t bits = (h & 0x7fffu) << 13;
    float x;
    std::memcpy(&x, &bits, sizeof x);
    x *= 0x1p112f;
    std::memcpy(&bits, &x, sizeof x);
    if ((h & 0x7c00u) == 0x7c00u) bits = 0x7f800000u | ((h & 0x3ffu) << 13);
    bits |= (h & 0x8000u) << 16;
    std::memcpy(lanes + i, &bits, sizeof bits);
  }
  return load(lanes);
#endif
}

/// Loads kLanes signed bytes and converts them to f32.
static inline Vec load_i8(const void* p) {
#if defined(__AVX512F__)
  const __m128i q = _mm_loadu_si128(static_cast<const __m128i*>(p));
  return (Vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q));
#elif defined(__AVX2__)
  const __m128i q = _mm_loadl_epi64(static_cast<const __m128i*>(p));
  return (Vec)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q));
#else
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = static_cast<float>(static_cast<const int8_t*>(p)[i]);
  return load(lanes);
#endif
}

/// Loads kLanes nibbles (4-bit numbers) as f32 from -8 to 7 (nibble - 8). They are the low nibbles
/// of kLanes bytes if `low` is true, otherwise the high nibbles.
static inline Vec load_i4(const void* p, bool low) {
#if defined(__AVX512F__)
  const __m512i q = _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  const __m512i half =
      _mm512_and_si512(_mm512_srl_epi32(q, _mm_cvtsi32_si128(low ? 0 : 4)), _mm512_set1_epi32(15));
  return (Vec)_mm512_cvtepi32_ps(_mm512_sub_epi32(half, _mm512_set1_epi32(8)));
#elif defined(__AVX2__)
  const __m256i q = _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
  const __m256i half =
      _mm256_and_si256(_mm256_srl_epi32(q, _mm_cvtsi32_si128(low ? 0 : 4)), _mm256_set1_epi32(15));
  return (Vec)_mm256_cvtepi32_ps(_mm256_sub_epi32(half, _mm256_set1_epi32(8)));
#else
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const int q = static_cast<const uint8_t*>(p)[i];
    lanes[i] = static_cast<float>((low ? q & 15 : q >> 4) - 8);
  }
  return load(lanes);
#endif
}

/// Stores v as bf16, rounded to nearest even. v must not contain NaN.
static inline void store_bf16(uint16_t* p, Vec v) {
#if defined(__AVX512BF16__)
  const __m256bh h = _mm512_cvtneps_pbh((__m512)v);
  std::memcpy(p, &h, 32);
#else
  uint32_t u[kLanes];
  std::memcpy(u, &v, sizeof v);
  for (int i = 0; i < kLanes; ++i) {
    p[i] = static_cast<uint16_t>((u[i] + 0x7fffu + ((u[i] >> 16) & 1u)) >> 16);
  }
#endif
}

}  // namespace longhaul::LH_ISA
