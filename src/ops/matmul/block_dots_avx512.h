#pragma once
// Dot products of one weight row with AVX512-VNNI. Each weight row is unpacked once for all rows of
// x. For each group of 256 weights, a row of x then needs four dot-product instructions, one
// multiplication of the scales, and one or two additions. Each row of x has its own sum, so its
// result does not depend on the number of rows.

#include "ops/matmul/matvec_kernels.h"
#include "ops/matmul/plain_row_sums.h"
#include "ops/matmul/weight_columns_avx512.h"

namespace longhaul::LH_ISA {
namespace {

using BlocksQ4_0 = WeightColumns<Q4_0>;
using BlocksQ4_1 = WeightColumns<Q4_1>;
using BlocksQ5_0 = WeightColumns<Q5_0>;
using BlocksQ5_1 = WeightColumns<Q5_1>;
using BlocksQ8_0 = WeightColumns<Q8_0>;
using BlocksIQ4_NL = WeightColumns<IQ4_NL>;
using BlocksIQ4_XS = WeightColumns<IQ4_XS>;
using BlocksMXFP4 = WeightColumns<MXFP4>;

template <class Type, int M>
class RowSums {
 public:
  RowSums() = default;
  explicit RowSums(Rows<M>) {
    for (int m = 0; m < M; ++m) sums_[m] = _mm512_setzero_ps();
  }

  [[gnu::always_inline]] void add_group(const uint8_t* p, const ActivationGroup* const* x,
                                        int64_t g) {
    __m512i u[4];
    __m512 d, constant;
    Type::columns(p, u);
    Type::factors(p, d, constant);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const ActivationGroup& a = x[m][g];
      __m512i dot = Type::kHasConstant ? _mm512_setzero_si512() : _mm512_load_si512(a.start);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        dot = _mm512_dpbusd_epi32(dot, u[k], _mm512_load_si512(a.columns + 64 * k));
      }
      if constexpr (Type::kHasConstant) {
        sums_[m] = _mm512_fmadd_ps(constant, _mm512_load_ps(a.sum), sums_[m]);
      }
      const __m512 scale = _mm512_mul_ps(d, _mm512_load_ps(a.scale));
      sums_[m] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), scale, sums_[m]);
    }
  }

  /// Processes the last group of a row, which has fewer than 8 blocks of 32, two blocks per step.
  /// The activations past the last block are zero, and the weights past it are not read.
  [[gnu::always_inline]] void add_tail(const uint8_t* p, int blocks,
                                       const ActivationGroup* const* x, int64_t g) {
    if constexpr (Type::kWeights == 32) {
      __m512 d, constant, scales[M];
      Type::scales(p, blocks, d, constant);
      for (int m = 0; m < M; ++m) {
        scales[m] = _mm512_mul_ps(d, _mm512_load_ps(x[m][g].scale));
        sums_[m] = _mm512_fmadd_ps(constant, _mm512_load_ps(x[m][g].sum), sums_[m]);
      }
      for (int j = 0; j < blocks / 2; ++j) add_quarter(Type::quarter(p, j), j, x, g, scales);
      if (blocks % 2 == 1) {
        const uint8_t* last = p + (blocks - 1) * Type::kBytes;
        add_quarter(Type::two_blocks(last, last), blocks / 2, x, g, scales);
      }
    }
  }

  float total(int m) const { return _mm512_reduce_add_ps(sums_[m]); }

 private:
  /// Lane i of the dot product covers weights 4 * i to 4 * i + 3 of quarter j. Their scale has the
  /// index 4 * j + i / 4.
  [[gnu::always_inline]] void add_quarter(__m512i u, int j, const ActivationGroup* const* x,
                                          int64_t g, const __m512* scales) {
    const __m512i lanes = _mm512_add_epi32(
        _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0), _mm512_set1_epi32(4 * j));
    for (int m = 0; m < M; ++m) {
      const __m512i q = _mm512_load_si512(x[m][g].q + 64 * j);
      const __m512 dot = _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_setzero_si512(), u, q));
      sums_[m] = _mm512_fmadd_ps(dot, _mm512_permutexvar_ps(lanes, scales[m]), sums_[m]);
    }
  }

  __m512 sums_[M];
};

}  // namespace
}  // namespace longhaul::LH_ISA
