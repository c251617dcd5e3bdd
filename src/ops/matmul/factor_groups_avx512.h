#pragma once
// Converts f32 activations to FactoredGroups (matvec.h). If corrupt weights lead to an activation
// that is NaN or infinite, the results are unspecified. Include this only in *.isa.cc files, which
// are compiled once per instruction set.

#include <immintrin.h>

#include "ops/matmul/matvec.h"
#include "ops/matmul/pairs_of_quarters_avx512.h"

namespace longhaul::LH_ISA {
namespace {

inline __m128 max_of_lanes(__m512 v) {
  const __m256 two = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  return _mm_max_ps(_mm256_castps256_ps128(two), _mm256_extractf128_ps(two, 1));
}

/// Returns the largest magnitude in each of four runs of 32 activations.
inline __m128 largest_of_runs(const float* x) {
  __m128 of[4];
  for (int run = 0; run < 4; ++run, x += 32) {
    of[run] = max_of_lanes(
        _mm512_max_ps(_mm512_abs_ps(_mm512_loadu_ps(x)), _mm512_abs_ps(_mm512_loadu_ps(x + 16))));
  }
  _MM_TRANSPOSE4_PS(of[0], of[1], of[2], of[3]);
  return _mm_max_ps(_mm_max_ps(of[0], of[1]), _mm_max_ps(of[2], of[3]));
}

/// Sets the scale and the factors of g. Returns one number for each run of 32 activations. The
/// activations of the run are multiplied by this number before they are rounded.
inline __m256 choose_factors(const float* x, FactoredGroup& g) {
  const __m256 largest = _mm256_set_m128(largest_of_runs(x + 128), largest_of_runs(x));
  const float most = _mm512_reduce_max_ps(_mm512_zextps256_ps512(largest));
  const bool counts = most > 1e-33f;  // the inverse of a smaller number would overflow
  g.scale = counts ? most / (127.0f * kMostFactor) : 0.0f;
  const __m256 exact = _mm256_mul_ps(largest, _mm256_set1_ps(counts ? kMostFactor / most : 0.0f));
  const __m256i factor =
      _mm256_cvtps_epi32(_mm256_add_ps(exact, _mm256_set1_ps(0.4999f)));  // rounds up
  const __m256i twice = _mm256_slli_epi32(factor, 8);
  _mm_store_si128(reinterpret_cast<__m128i*>(g.factor32), _mm256_cvtepi32_epi16(twice));
  const __m512i runs = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  _mm256_store_si256(
      reinterpret_cast<__m256i*>(g.factor16),
      _mm512_cvtepi32_epi16(_mm512_permutexvar_epi32(runs, _mm512_castsi256_si512(twice))));
  const __m256 step = _mm256_mul_ps(_mm256_cvtepi32_ps(factor), _mm256_set1_ps(g.scale));
  return _mm256_maskz_div_ps(_mm256_cmp_ps_mask(step, _mm256_setzero_ps(), _CMP_GT_OQ),
                             _mm256_set1_ps(1.0f), step);
}

/// Computes the sums over each 4, 16 and 32 elements of q.
inline void add_up(FactoredGroup& g) {
  __m512i of_4[4];
  for (int j = 0; j < 4; ++j) {
    of_4[j] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1),
                                  _mm512_load_si512(g.q + 64 * j));
    _mm512_store_si512(g.offsets + 16 * j, _mm512_mullo_epi32(of_4[j], _mm512_set1_epi32(-32)));
  }
  const auto pairs = [](__m512i a, __m512i b) {
    return _mm512_madd_epi16(_mm512_packs_epi32(a, b), _mm512_set1_epi16(1));
  };
  // Element j of 128-bit lane l is the sum of the 16 elements that begin at 64 * j + 16 * l.
  const __m512i of_16 = pairs(pairs(of_4[0], of_4[1]), pairs(of_4[2], of_4[3]));
  const __m256i in_order = _mm512_cvtepi32_epi16(_mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), of_16));
  _mm256_store_si256(reinterpret_cast<__m256i*>(g.sum16), in_order);
  _mm_store_si128(reinterpret_cast<__m128i*>(g.sum32),
                  _mm256_cvtepi32_epi16(_mm256_madd_epi16(in_order, _mm256_set1_epi16(1))));
}

/// Interleaves two quarters (64 elements each) that begin 128 elements apart, for dot products of 8
/// elements (see FactoredGroup::q_of_8).
inline void interleave_quarters(const int8_t* from, int8_t* to) {
  const __m512i a = _mm512_load_si512(from), b = _mm512_load_si512(from + 128);
  _mm512_store_si512(to, first_of_each_8(a, b));
  _mm512_store_si512(to + 64, second_of_each_8(a, b));
}

inline void arrange_for_dots_of_8(FactoredGroup& g) {
  for (int i = 0; i < 2; ++i) {
    interleave_quarters(g.q + 64 * i, g.q_of_8 + 128 * i);
    interleave_quarters(g.pairs + 64 * i, g.pairs_of_8 + 128 * i);
    const __m512i a = _mm512_load_si512(g.offsets + 16 * i);
    const __m512i b = _mm512_load_si512(g.offsets + 16 * i + 32);
    _mm512_store_si512(g.offsets_of_8 + 16 * i,
                       _mm512_add_epi32(first_of_each_8(a, b), second_of_each_8(a, b)));
  }
}

/// Converts x [256 * groups] to `groups` FactoredGroups.
inline void factor_groups(const float* x, int64_t groups, FactoredGroup* out) {
  for (FactoredGroup* g = out; g < out + groups; ++g, x += 256) {
    alignas(32) float inverse[8];
    _mm256_store_ps(inverse, choose_factors(x, *g));
    for (int run = 0; run < 8; ++run) {
      const int pair = 128 * (run / 4) + 64 * (run % 2) + 32 * (run % 4 / 2);
      for (int i = 0; i < 32; i += 16) {
        const __m512 scaled =
            _mm512_mul_ps(_mm512_loadu_ps(x + 32 * run + i), _mm512_set1_ps(inverse[run]));
        const __m128i q = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(scaled));
        _mm_store_si128(reinterpret_cast<__m128i*>(g->q + 32 * run + i), q);
        _mm_store_si128(reinterpret_cast<__m128i*>(g->pairs + pair + i), q);
      }
    }
    add_up(*g);
    arrange_for_dots_of_8(*g);
  }
}

}  // namespace
}  // namespace longhaul::LH_ISA
