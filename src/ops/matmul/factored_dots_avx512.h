#pragma once
// Multiplies four weight rows at a time by FactoredGroups (matvec.h), with AVX512-VNNI. A dot
// product of 4 elements fits into 16 bits. It is multiplied by the integer factors of its weights
// and of its activations, which yields 32 bits. The sum over 256 elements is then multiplied by f32
// factors. The result of a weight row does not depend on its place among the four rows.

#include <immintrin.h>

#include "ops/core/isa/prefetch.h"
#include "ops/matmul/factored_blocks_avx512.h"
#include "ops/matmul/matvec_kernels.h"
#include "ops/matmul/plain_row_sums.h"

namespace longhaul::LH_ISA {
namespace {

/// Indices that select the factor for each dot product. The dot products of two quarters (64
/// weights each) are packed into 32 numbers of 16 bits. A vector holds 32 factors, 8 for each of
/// four weight rows. If a factor covers 32 weights, one vector holds all factors of a block of 256.
/// If a factor covers 16 weights, each half of the block has its own vector.
struct FactorOfPacked {
  alignas(64) int16_t of32[2][4][32];  // [half of the block][weight row]
  alignas(64) int16_t of16[4][32];
  // Indices for dot products of 8 elements, in the order of FactoredGroup::pairs_of_8 and q_of_8.
  // Indices from 32 on refer to the vector of the block's second half.
  alignas(64) int16_t of32_of_8[4][32];
  alignas(64) int16_t of16_of_8[4][32];
};

constexpr FactorOfPacked make_factor_of_packed() {
  FactorOfPacked f{};
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 32; ++i) {
      const int lane = i / 8, second = i % 8 / 4;  // `second` is 1 in the second quarter
      for (int half = 0; half < 2; ++half) {
        f.of32[half][row][i] = static_cast<int16_t>(8 * row + 4 * half + lane / 2 * 2 + second);
      }
      f.of16[row][i] = static_cast<int16_t>(8 * row + 4 * second + lane);
      const int other_half = i % 2;
      f.of32_of_8[row][i] = static_cast<int16_t>(8 * row + 4 * other_half + lane / 2 * 2 + second);
      f.of16_of_8[row][i] = static_cast<int16_t>(32 * other_half + 8 * row + 4 * second + lane);
    }
  }
  return f;
}
inline constexpr FactorOfPacked kFactorOfPacked = make_factor_of_packed();

/// Returns a vector whose 128-bit lane r adds up to the sum of v[r]. A sum of eight of the numbers
/// fits into 32 bits (see kMostFactor), but a sum of 16 may not.
[[gnu::always_inline]] inline __m512 lane_sums(const __m512i v[4]) {
  const __m512i ab = _mm512_add_epi32(_mm512_shuffle_i32x4(v[0], v[1], 0x44),
                                      _mm512_shuffle_i32x4(v[0], v[1], 0xee));
  const __m512i cd = _mm512_add_epi32(_mm512_shuffle_i32x4(v[2], v[3], 0x44),
                                      _mm512_shuffle_i32x4(v[2], v[3], 0xee));
  return _mm512_add_ps(_mm512_cvtepi32_ps(_mm512_shuffle_i32x4(ab, cd, 0x88)),
                       _mm512_cvtepi32_ps(_mm512_shuffle_i32x4(ab, cd, 0xdd)));
}

inline __m512i eight_in_each_lane(const int16_t* p) {
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
}

/// Accumulates the products of four weight rows and several rows of x. M is the number of rows of
/// x, or kMostRowsOfX if the number is known only at run time. A single row of x uses dot products
/// of 4 elements. Several rows use dot products of 8 elements, which take fewer steps and yield the
/// same integers.
template <class Type, int M>
class FourRows {
 public:
  explicit FourRows(int rows) : rows_(rows) {
    for (int m = 0; m < M; ++m) sums_[m] = _mm512_setzero_ps();
  }

  [[gnu::always_inline]] void add_group(const uint8_t* const* p, const FactoredGroup* const* x,
                                        int64_t g) {
    const Factors f(p);
    if constexpr (M < kMostRowsOfX) {
      __m512i factors[M][kHalves], dots[M][4];
      for (int m = 0; m < M; ++m) multiply_factors(f, x[m][g], factors[m]);
#pragma GCC unroll 4
      for (int row = 0; row < 4; ++row) {
        __m512i u[4];
        unpack(p[row], u);
        for (int m = 0; m < M; ++m) dots[m][row] = dot(u, factors[m], row, x[m][g]);
      }
      for (int m = 0; m < M; ++m) add(f, x[m][g], dots[m], sums_[m]);
    } else {
      __m512i u[4][4];  // kept in 16 registers
#pragma GCC unroll 4
      for (int row = 0; row < 4; ++row) unpack(p[row], u[row]);
#pragma GCC unroll 1
      for (int m = 0; m < rows_; ++m) {
        __m512i factors[kHalves], dots[4];
        multiply_factors(f, x[m][g], factors);
#pragma GCC unroll 4
        for (int row = 0; row < 4; ++row) dots[row] = dot(u[row], factors, row, x[m][g]);
        add(f, x[m][g], dots, sums_[m]);
      }
    }
  }

  /// Returns the results of the four weight rows for row m of x.
  __m128 totals(int m) const {
    const __m512 pairs = _mm512_add_ps(sums_[m], _mm512_permute_ps(sums_[m], 0b01'00'11'10));
    const __m512 all = _mm512_add_ps(pairs, _mm512_permute_ps(pairs, 0b10'11'00'01));
    const __m512i lanes = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm512_castps512_ps128(_mm512_permutexvar_ps(lanes, all));
  }

 private:
  using Factors = typename Type::Factors;
  static constexpr int kHalves = Factors::kOf32 ? 1 : 2;

  static __m512i times_factors(__m512i upper, const FactoredGroup& x, int half) {
    const int16_t* of_x = Factors::kOf32 ? x.factor32 : x.factor16 + 8 * half;
    return _mm512_mulhi_epi16(upper, eight_in_each_lane(of_x));
  }

  [[gnu::always_inline]] static void multiply_factors(const Factors& f, const FactoredGroup& x,
                                                      __m512i factors[kHalves]) {
    for (int half = 0; half < kHalves; ++half) {
      factors[half] = times_factors(f.factors[half], x, half);
    }
  }

  [[gnu::always_inline]] static void add(const Factors& f, const FactoredGroup& x,
                                         const __m512i dots[4], __m512& sum) {
    const __m512 scale = _mm512_set1_ps(x.scale);
    sum = _mm512_fmadd_ps(lane_sums(dots), _mm512_mul_ps(f.d, scale), sum);
    if constexpr (Factors::kHasMinima) {
      __m512i minima = _mm512_setzero_si512();
      for (int half = 0; half < kHalves; ++half) {
        const int16_t* of_x = Factors::kOf32 ? x.sum32 : x.sum16 + 8 * half;
        minima = _mm512_dpwssd_epi32(minima, times_factors(f.minima[half], x, half),
                                     eight_in_each_lane(of_x));
      }
      sum = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(minima), _mm512_mul_ps(f.dmin, scale), sum);
    }
  }

  [[gnu::always_inline]] static void unpack(const uint8_t* p, __m512i u[4]) {
    if constexpr (M == 1) {
      Type::unpack(p, u);
    } else {
      unpack_for_dots_of_8<typename Type::Block>(p, u);
    }
  }

  [[gnu::always_inline]] static __m512i dot(const __m512i u[4], const __m512i* factors, int row,
                                            const FactoredGroup& x) {
    if constexpr (M == 1) {
      return dot_of_4s(u, factors, row, x);
    } else {
      return dot_of_8s(u, factors, row, x);
    }
  }

  [[gnu::always_inline]] static __m512i dot_of_4s(const __m512i u[4], const __m512i* factors,
                                                  int row, const FactoredGroup& x) {
    const int8_t* q = Factors::kOf32 ? x.pairs : x.q;
    __m512i sum = _mm512_setzero_si512();
    for (int half = 0; half < 2; ++half) {
      __m512i of_4[2];
      for (int i = 0; i < 2; ++i) {
        const int j = 2 * half + i;
        const __m512i start =
            Factors::kHasMinima ? _mm512_setzero_si512() : _mm512_load_si512(x.offsets + 16 * j);
        of_4[i] = _mm512_dpbusd_epi32(start, u[j], _mm512_load_si512(q + 64 * j));
      }
      const int16_t* which =
          Factors::kOf32 ? kFactorOfPacked.of32[half][row] : kFactorOfPacked.of16[row];
      const __m512i each =
          _mm512_permutexvar_epi16(_mm512_load_si512(which), factors[Factors::kOf32 ? 0 : half]);
      sum = _mm512_dpwssd_epi32(sum, _mm512_packs_epi32(of_4[0], of_4[1]), each);
    }
    return sum;
  }

  [[gnu::always_inline]] static __m512i dot_of_8s(const __m512i u[4], const __m512i* factors,
                                                  int row, const FactoredGroup& x) {
    const int8_t* q = Factors::kOf32 ? x.pairs_of_8 : x.q_of_8;
    __m512i of_8[2];
    for (int i = 0; i < 2; ++i, q += 128) {
      const __m512i start =
          Factors::kHasMinima ? _mm512_setzero_si512() : _mm512_load_si512(x.offsets_of_8 + 16 * i);
      of_8[i] = _mm512_dpbusd_epi32(start, u[2 * i], _mm512_load_si512(q));
      of_8[i] = _mm512_dpbusd_epi32(of_8[i], u[2 * i + 1], _mm512_load_si512(q + 64));
    }
    __m512i each;
    if constexpr (Factors::kOf32) {
      const __m512i which = _mm512_load_si512(kFactorOfPacked.of32_of_8[row]);
      each = _mm512_permutexvar_epi16(which, factors[0]);
    } else {
      const __m512i which = _mm512_load_si512(kFactorOfPacked.of16_of_8[row]);
      each = _mm512_permutex2var_epi16(factors[0], which, factors[1]);
    }
    return _mm512_madd_epi16(_mm512_packs_epi32(of_8[0], of_8[1]), each);
  }

  int rows_;
  __m512 sums_[M];  // 128-bit lane r has the partial sums of weight row r
};

/// Multiplies all weight rows by `rows` rows of x, beginning with row `first`. FourRows explains M.
template <class Type, int M>
void factored_rows_of(const MatvecRows& a, int64_t first, int rows) {
  const int64_t groups = a.cols / 256;
  const FactoredGroup* x[M];
  for (int m = 0; m < rows; ++m) x[m] = a.factored + (first + m) * groups;
  // The prefetch distance of prefetch_ahead_of() is rounded up to a multiple of four rows, so that
  // it leads to the same column of a later row.
  const size_t four = 4 * a.row_bytes, ahead = (kPrefetchBytes + four - 1) / four * four;
  for (int64_t r = 0; r < a.rows; r += 4) {
    const int64_t count = a.rows - r < 4 ? a.rows - r : 4;
    const uint8_t* p[4];
    for (int i = 0; i < 4; ++i) {
      p[i] = a.weight + static_cast<size_t>(r + (i < count ? i : count - 1)) * a.row_bytes;
    }
    FourRows<Type, M> sums(rows);
    for (int64_t g = 0; g < groups; ++g) {
      for (int i = 0; i < 4; ++i) prefetch_bytes(p[i] + ahead, Type::kBytes);
      sums.add_group(p, x, g);
      for (int i = 0; i < 4; ++i) p[i] += Type::kBytes;
    }
    const auto live = static_cast<__mmask8>((1 << count) - 1);
    const __m128 bias = a.bias != nullptr ? _mm_maskz_loadu_ps(live, a.bias + r) : _mm_setzero_ps();
    for (int m = 0; m < rows; ++m) {
      _mm_mask_storeu_ps(a.y + (first + m) * a.y_stride + r, live,
                         _mm_add_ps(sums.totals(m), bias));
    }
  }
}

template <class Type>
void factored_rows(const MatvecRows& a) {
  for (int64_t m = 0; m < a.x_rows; m += kMostRowsOfX) {
    const int rows = static_cast<int>(a.x_rows - m < kMostRowsOfX ? a.x_rows - m : kMostRowsOfX);
    switch (rows) {
      case 1:
        factored_rows_of<Type, 1>(a, m, rows);
        break;
      case 2:
        factored_rows_of<Type, 2>(a, m, rows);
        break;
      case 4:
        factored_rows_of<Type, 4>(a, m, rows);
        break;
      default:
        factored_rows_of<Type, kMostRowsOfX>(a, m, rows);
    }
  }
}

}  // namespace
}  // namespace longhaul::LH_ISA
