#pragma once
// Sums of one weight row with AVX2: weights unpacked to bytes by the compiler's vectoriser, then
// dot products of 32.

#include <immintrin.h>

#include "ops/cpu/matvec_kernels.h"
#include "ops/cpu/weight_blocks.h"

namespace longhaul::LH_ISA {
namespace {

using BlocksQ4_0 = Q4_0;
using BlocksQ4_1 = Q4_1;
using BlocksQ5_0 = Q5_0;
using BlocksQ5_1 = Q5_1;
using BlocksQ8_0 = Q8_0;
using BlocksIQ4_NL = IQ4_NL;
using BlocksQ3_K = Q3_K;
using BlocksQ4_K = Q4_K;
using BlocksQ5_K = Q5_K;
using BlocksQ6_K = Q6_K;
using BlocksIQ4_XS = IQ4_XS;

/// Unsigned by signed bytes, 8 sums of 4. Pairs are added in 16 bits, which two products with
/// weights above 127 would overflow: those are taken below zero and above zero apart.
template <bool kAbove127>
inline __m256i dot_lanes(__m256i u, __m256i q) {
  const __m256i ones = _mm256_set1_epi16(1);
  if constexpr (!kAbove127) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(u, q), ones);
  } else {
    const __m256i low = _mm256_and_si256(u, _mm256_set1_epi8(127));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(u, 7), _mm256_set1_epi8(1));
    const __m256i high_sums = _mm256_slli_epi16(_mm256_maddubs_epi16(high, q), 7);
    return _mm256_add_epi32(_mm256_madd_epi16(_mm256_maddubs_epi16(low, q), ones),
                            _mm256_madd_epi16(high_sums, ones));
  }
}

template <class Type, int M>
class RowSums {
 public:
  RowSums() {
    for (int m = 0; m < M; ++m) sums_[m] = _mm256_setzero_ps();
  }

  void add_group(const uint8_t* p, const ActivationGroup* const* x, int64_t g) {
    add_blocks(p, 256 / Type::kWeights, x, g);
  }
  void add_tail(const uint8_t* p, int blocks, const ActivationGroup* const* x, int64_t g) {
    add_blocks(p, blocks, x, g);
  }

  float total(int m) const {
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128(sums_[m]), _mm256_extractf128_ps(sums_[m], 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }

 private:
  void add_blocks(const uint8_t* p, int blocks, const ActivationGroup* const* x, int64_t g) {
    alignas(32) float d[16] = {}, constant[16] = {};
    alignas(32) uint8_t u[256];
    Type::scales(p, blocks, d, constant);
    Type::unpack(p, blocks, u);
    const int count = blocks * Type::kWeights / 32;
    for (int m = 0; m < M; ++m) {
      const ActivationGroup& a = x[m][g];
      alignas(32) float scale[16];
      for (int i = 0; i < 2; ++i) {
        const __m256 factors = _mm256_load_ps(d + 8 * i);
        _mm256_store_ps(scale + 8 * i, _mm256_mul_ps(factors, _mm256_loadu_ps(a.scale + 8 * i)));
        sums_[m] = _mm256_fmadd_ps(_mm256_load_ps(constant + 8 * i), _mm256_loadu_ps(a.sum + 8 * i),
                                   sums_[m]);
      }
      for (int b = 0; b < count; ++b) {
        const __m256i weights = _mm256_load_si256(reinterpret_cast<const __m256i*>(u + 32 * b));
        const __m256i q = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a.q + 32 * b));
        const __m256 dot = _mm256_cvtepi32_ps(dot_lanes<Type::kAbove127>(weights, q));
        sums_[m] = _mm256_fmadd_ps(dot, lane_scales(scale + 2 * b), sums_[m]);
      }
    }
  }

  static __m256 lane_scales(const float* scale) {
    if constexpr (Type::kScalePer16) {
      return _mm256_setr_m128(_mm_broadcast_ss(scale), _mm_broadcast_ss(scale + 1));
    } else {
      return _mm256_broadcast_ss(scale);
    }
  }

  __m256 sums_[M];
};

}  // namespace
}  // namespace longhaul::LH_ISA
