#pragma once
// Dot products of one weight row with AVX2, 32 weights per step.

#include "ops/matmul/matvec_kernels.h"
#include "ops/matmul/plain_row_sums.h"
#include "ops/matmul/weight_blocks_avx2.h"

namespace longhaul::LH_ISA {
namespace {

/// Multiplies unsigned bytes by signed bytes and returns 8 sums of 4 products each. The instruction
/// adds pairs of products in 16 bits. If weights exceed 127, such a pair could overflow. The
/// contribution of the weights' top bits is therefore computed separately.
template <bool kAbove127>
inline __m256i dot_lanes(__m256i u, __m256i q) {
  const __m256i ones = _mm256_set1_epi16(1);
  if constexpr (!kAbove127) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(u, q), ones);
  } else {
    const __m256i low = _mm256_and_si256(u, _mm256_set1_epi8(127));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(u, 7), _mm256_set1_epi8(1));
    // The magnitudes are at most 254, so their products with 128 fit into 32 bits.
    const __m256i high_sums = _mm256_maddubs_epi16(high, q);
    return _mm256_add_epi32(_mm256_madd_epi16(_mm256_maddubs_epi16(low, q), ones),
                            _mm256_madd_epi16(high_sums, _mm256_set1_epi16(128)));
  }
}

template <class Type, int M>
class RowSums {
 public:
  RowSums() = default;
  explicit RowSums(Rows<M>) {
    for (int m = 0; m < M; ++m) sums_[m][0] = sums_[m][1] = _mm256_setzero_ps();
  }

  [[gnu::always_inline]] void add_group(const uint8_t* p, const ActivationGroup* const* x,
                                        int64_t g) {
    alignas(32) float scale[M][16];
    start_group(p, 256 / Type::kWeights, x, g, scale);
#pragma GCC unroll 4
    for (int j = 0; j < 8; j += 2) {
      add_block<0>(Type::block(p, j), j, x, g, scale);
      add_block<1>(Type::block(p, j + 1), j + 1, x, g, scale);
    }
  }

  /// Processes the last group of a row, which has fewer than 8 blocks of 32.
  [[gnu::always_inline]] void add_tail(const uint8_t* p, int blocks,
                                       const ActivationGroup* const* x, int64_t g) {
    if constexpr (Type::kWeights == 32) {
      alignas(32) float scale[M][16];
      start_group(p, blocks, x, g, scale);
      for (int j = 0; j < blocks; ++j) add_block<0>(Type::block(p, j), j, x, g, scale);
    }
  }

  float total(int m) const {
    const __m256 sum = _mm256_add_ps(sums_[m][0], sums_[m][1]);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }

 private:
  [[gnu::always_inline]] void start_group(const uint8_t* p, int blocks,
                                          const ActivationGroup* const* x, int64_t g,
                                          float (*scale)[16]) {
    const Factors f = Type::factors(p, blocks);
    for (int m = 0; m < M; ++m) {
      const ActivationGroup& a = x[m][g];
      for (int i = 0; i < 2; ++i) {
        _mm256_store_ps(scale[m] + 8 * i, _mm256_mul_ps(f.d[i], _mm256_loadu_ps(a.scale + 8 * i)));
        sums_[m][i] = _mm256_fmadd_ps(f.m[i], _mm256_loadu_ps(a.sum + 8 * i), sums_[m][i]);
      }
    }
  }

  template <int kChain>
  [[gnu::always_inline]] void add_block(__m256i u, int j, const ActivationGroup* const* x,
                                        int64_t g, const float (*scale)[16]) {
    for (int m = 0; m < M; ++m) {
      const __m256i q = bytes32(reinterpret_cast<const uint8_t*>(x[m][g].q) + 32 * j);
      const __m256 dot = _mm256_cvtepi32_ps(dot_lanes<Type::kAbove127>(u, q));
      __m256& sum = sums_[m][kChain];
      sum = _mm256_fmadd_ps(dot, lane_scales(scale[m] + 2 * j), sum);
    }
  }

  static __m256 lane_scales(const float* scale) {
    if constexpr (Type::kScalePer16) {
      return _mm256_set_m128(_mm_broadcast_ss(scale + 1), _mm_broadcast_ss(scale));
    } else {
      return _mm256_broadcast_ss(scale);
    }
  }

  __m256 sums_[M][2];
};

}  // namespace
}  // namespace longhaul::LH_ISA
