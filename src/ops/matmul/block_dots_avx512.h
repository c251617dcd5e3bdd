#pragma once
// Sums of one weight row with AVX512-VNNI: 64 weights a step, unsigned by signed bytes.

#include "ops/matmul/matvec_kernels.h"
#include "ops/matmul/plain_row_sums.h"
#include "ops/matmul/weight_blocks_avx512.h"

namespace longhaul::LH_ISA {
namespace {

using BlocksQ4_0 = Registers32<Q4_0>;
using BlocksQ4_1 = Registers32<Q4_1>;
using BlocksQ5_0 = Registers32<Q5_0>;
using BlocksQ5_1 = Registers32<Q5_1>;
using BlocksQ8_0 = Registers32<Q8_0>;
using BlocksIQ4_NL = Registers32<IQ4_NL>;
using BlocksIQ4_XS = RegistersIQ4_XS;
using BlocksMXFP4 = RegistersMXFP4;

template <class Type, int M>
class RowSums {
 public:
  explicit RowSums(Rows<M>) {
    for (int m = 0; m < M; ++m) {
      for (int c = 0; c < kChains; ++c) sums_[m][c] = _mm512_setzero_ps();
    }
  }

  [[gnu::always_inline]] void add_group(const uint8_t* p, const ActivationGroup* const* x,
                                        int64_t g) {
    __m512 scales[M];
    start_group(p, 256 / Type::kWeights, x, g, scales);
    add_quarter<0>(Type::quarter(p, 0), 0, x, g, scales);
    add_quarter<1>(Type::quarter(p, 1), 1, x, g, scales);
    add_quarter<2>(Type::quarter(p, 2), 2, x, g, scales);
    add_quarter<3>(Type::quarter(p, 3), 3, x, g, scales);
  }

  /// Fewer than 8 blocks of 32. Activations beyond the end are zero, bytes beyond it are not read.
  [[gnu::always_inline]] void add_tail(const uint8_t* p, int blocks,
                                       const ActivationGroup* const* x, int64_t g) {
    if constexpr (Type::kWeights == 32) {
      __m512 scales[M];
      start_group(p, blocks, x, g, scales);
      for (int j = 0; j < blocks / 2; ++j) add_quarter<0>(Type::quarter(p, j), j, x, g, scales);
      if (blocks % 2 == 1) {
        const uint8_t* last = p + (blocks - 1) * Type::kBytes;
        add_quarter<0>(Type::two_blocks(last, last), blocks / 2, x, g, scales);
      }
    }
  }

  float total(int m) const {
    __m512 sum = sums_[m][0];
    for (int c = 1; c < kChains; ++c) sum = _mm512_add_ps(sum, sums_[m][c]);
    return _mm512_reduce_add_ps(sum);
  }

 private:
  [[gnu::always_inline]] void start_group(const uint8_t* p, int blocks,
                                          const ActivationGroup* const* x, int64_t g,
                                          __m512* scales) {
    __m512 d, constant;
    Type::scales(p, blocks, d, constant);
    for (int m = 0; m < M; ++m) {
      scales[m] = _mm512_mul_ps(d, _mm512_loadu_ps(x[m][g].scale));
      sums_[m][0] = _mm512_fmadd_ps(constant, _mm512_loadu_ps(x[m][g].sum), sums_[m][0]);
    }
  }

  /// Lane i of the dot product holds weights 4 i to 4 i + 3, so it takes scale 4 j + i / 4.
  template <int kChain>
  [[gnu::always_inline]] void add_quarter(__m512i u, int j, const ActivationGroup* const* x,
                                          int64_t g, const __m512* scales) {
    const __m512i lanes = _mm512_add_epi32(
        _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0), _mm512_set1_epi32(4 * j));
    for (int m = 0; m < M; ++m) {
      const __m512i q = _mm512_loadu_si512(x[m][g].q + 64 * j);
      const __m512 dot = _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_setzero_si512(), u, q));
      const __m512 scale = _mm512_permutexvar_ps(lanes, scales[m]);
      __m512& sum = sums_[m][kChain % kChains];
      sum = _mm512_fmadd_ps(dot, scale, sum);
    }
  }

  // Independent sums hide latency. Their number is the same for every M, so that a row's result
  // does not depend on the other rows.
  static constexpr int kChains = 2;
  __m512 sums_[M][kChains];
};

}  // namespace
}  // namespace longhaul::LH_ISA
