#pragma once
// Unpacks the block types with integer factors (the K types) for factored_dots_avx512.h. The
// classes of this file yield the factors of four weight rows, one row per 128-bit lane, and the
// weights of one row as unsigned bytes. weight_blocks.h and small_blocks.h describe the layouts of
// blocks.

#include <immintrin.h>

#include "ops/matmul/pairs_of_quarters_avx512.h"
#include "ops/matmul/small_blocks_avx512.h"
#include "ops/matmul/weight_blocks_avx512.h"

namespace longhaul::LH_ISA {
namespace {

/// Loads 16 bytes at p[r] + at into 128-bit lane r, for each of four rows r.
[[gnu::always_inline]] inline __m512i lanes_of_rows(const uint8_t* const* p, int at) {
  const auto lane = [&](int r) __attribute__((always_inline)) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p[r] + at));
  };
  __m512i v = _mm512_castsi128_si512(lane(0));
  v = _mm512_inserti32x4(v, lane(1), 1);
  v = _mm512_inserti32x4(v, lane(2), 2);
  return _mm512_inserti32x4(v, lane(3), 3);
}

/// Broadcasts the f16 at p[r] + at within 128-bit lane r, as f32, for each of four rows r.
[[gnu::always_inline]] inline __m512 halves_of_rows(const uint8_t* const* p, int at) {
  const auto half = [&](int r) __attribute__((always_inline)) {
    return uint64_t{load_u16(p[r] + at)} << (16 * r);
  };
  const auto four = static_cast<int64_t>((half(0) | half(1)) | (half(2) | half(3)));
  const __m256i each = _mm256_setr_epi16(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  return _mm512_cvtph_ps(
      _mm256_permutexvar_epi16(each, _mm256_castsi128_si256(_mm_cvtsi64_si128(four))));
}

inline __m512i in_each_lane(int a, int b, int c, int d) {
  return _mm512_broadcast_i32x4(_mm_setr_epi32(a, b, c, d));
}

/// Moves bytes 0 to 7 (half = 0) or 8 to 15 (half = 1) of each 128-bit lane to the upper bytes of
/// 16-bit words. The upper 16 bits of the product of two such words are then the product of the two
/// bytes.
inline __m512i upper_bytes(__m512i bytes, int half) {
  const __m512i zero = _mm512_setzero_si512();
  return half == 0 ? _mm512_unpacklo_epi8(zero, bytes) : _mm512_unpackhi_epi8(zero, bytes);
}

/// Factors of Q4_K and Q5_K, which have a factor and a minimum for each 32 weights. They are stored
/// as upper_bytes() returns them. One vector holds the factors of a whole block.
struct FactorsOf32 {
  static constexpr bool kOf32 = true, kHasMinima = true;
  __m512i factors[1], minima[1];
  __m512 d, dmin;

  /// The first 16 bytes of a block are four words. The first holds d and dmin as f16. The second
  /// (a) holds the 6 bits of factors 0 to 3 and the high 2 bits of factors 4 to 7. The third (b)
  /// holds the same bits of the minima. The fourth (c) holds the low 4 bits of factors 4 to 7 and
  /// of minima 4 to 7.
  [[gnu::always_inline]] explicit FactorsOf32(const uint8_t* const* p) {
    const __m512i head = lanes_of_rows(p, 0);
    const __m512i acbc = _mm512_shuffle_epi32(head, static_cast<_MM_PERM_ENUM>(0b11'10'11'01));
    const __m512i aabb = _mm512_shuffle_epi32(head, static_cast<_MM_PERM_ENUM>(0b10'10'01'01));
    const __m512i low =
        _mm512_and_si512(_mm512_srlv_epi32(acbc, in_each_lane(0, 0, 0, 4)),
                         in_each_lane(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
    const __m512i six = _mm512_ternarylogic_epi32(  // low | (aabb >> 2 & mask)
        low, _mm512_srli_epi32(aabb, 2), in_each_lane(0, 0x30303030, 0, 0x30303030), 0xf8);
    factors[0] = upper_bytes(six, 0);
    minima[0] = upper_bytes(six, 1);
    d = halves_of_lanes(head, 0);
    dmin = halves_of_lanes(head, 1);
  }

 private:
  static __m512 halves_of_lanes(__m512i lanes, int16_t at) {
    const __m256i each = _mm256_setr_epi16(0, 0, 0, 0, 8, 8, 8, 8, 16, 16, 16, 16, 24, 24, 24, 24);
    const __m256i index = _mm256_add_epi16(each, _mm256_set1_epi16(at));
    return _mm512_cvtph_ps(
        _mm512_castsi512_si256(_mm512_permutexvar_epi16(_mm512_castsi256_si512(index), lanes)));
  }
};

/// Factors of types with one factor for each 16 weights. A weight is u - 32, where u is the
/// unpacked byte.
struct SignedFactorsOf16 {
  static constexpr bool kOf32 = false, kHasMinima = false;
  __m512i factors[2];
  __m512 d;

  [[gnu::always_inline]] SignedFactorsOf16(__m512i bytes, __m512 factor)
      : factors{upper_bytes(bytes, 0), upper_bytes(bytes, 1)}, d(factor) {}
};

struct FactorsQ6_K : SignedFactorsOf16 {
  [[gnu::always_inline]] explicit FactorsQ6_K(const uint8_t* const* p)
      : SignedFactorsOf16(lanes_of_rows(p, 192), halves_of_rows(p, 208)) {}
};

/// Factors of Q3_K. Its weights are unpacked as 8 * u, so that the offset of 4 becomes 32, as in
/// the other types.
struct FactorsQ3_K : SignedFactorsOf16 {
  [[gnu::always_inline]] explicit FactorsQ3_K(const uint8_t* const* p)
      : SignedFactorsOf16(six_bits(lanes_of_rows(p, 94)),
                          _mm512_mul_ps(halves_of_rows(p, 108), _mm512_set1_ps(0.125f))) {}

 private:
  /// Decodes the scales of the last 16 bytes of a block (see Q3_K::scale in quant_blocks.h).
  static __m512i six_bits(__m512i tail) {
    const __m512i abab =
        _mm512_shuffle_epi8(tail, in_each_lane(0x05040302, 0x09080706, 0x05040302, 0x09080706));
    const __m512i c = _mm512_shuffle_epi8(tail, _mm512_set1_epi32(0x0d0c0b0a));
    const __m512i low =
        _mm512_and_si512(_mm512_srlv_epi32(abab, in_each_lane(0, 0, 4, 4)), nibbles());
    const __m512i high = _mm512_rolv_epi32(c, in_each_lane(4, 2, 0, 30));
    const __m512i six = _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(48), 0xf8);
    return _mm512_sub_epi8(six, _mm512_set1_epi8(32));
  }
};

struct FactorsQ2_K {
  static constexpr bool kOf32 = false, kHasMinima = true;
  __m512i factors[2], minima[2];
  __m512 d, dmin;

  [[gnu::always_inline]] explicit FactorsQ2_K(const uint8_t* const* p)
      : d(halves_of_rows(p, 80)), dmin(halves_of_rows(p, 82)) {
    const __m512i both = lanes_of_rows(p, 0);
    const __m512i low = _mm512_and_si512(both, nibbles());
    const __m512i high = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibbles());
    for (int half = 0; half < 2; ++half) {
      factors[half] = upper_bytes(low, half);
      minima[half] = upper_bytes(high, half);
    }
  }
};

/// Each specialisation unpacks a block of Type. unpack() returns four quarters of 64 weights. The
/// weights are in the order of FactoredGroup::pairs if a factor covers 32 weights, and otherwise in
/// the order of the row. unpack_for_dots_of_8() returns the weights in the order of
/// FactoredGroup::pairs_of_8 if a factor covers 32 weights, and otherwise in the order of q_of_8.
template <class Type>
struct Factored;

template <class Type>
[[gnu::always_inline]] inline void unpack_for_dots_of_8(const uint8_t* p, __m512i u[4]) {
  __m512i q[4];
  Factored<Type>::unpack(p, q);
  for (int i = 0; i < 2; ++i) {
    u[2 * i] = first_of_each_8(q[i], q[2 + i]);
    u[2 * i + 1] = second_of_each_8(q[i], q[2 + i]);
  }
}

template <>
struct Factored<Q4_K> : Q4_K {
  using Block = Q4_K;
  using Factors = FactorsOf32;
  [[gnu::always_inline]] static void unpack(const uint8_t* p, __m512i u[4]) {
    for (int i = 0; i < 2; ++i) {
      const __m512i bytes = _mm512_loadu_si512(p + 16 + 64 * i);
      u[2 * i] = _mm512_and_si512(bytes, nibbles());
      u[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), nibbles());
    }
  }
};

template <>
struct Factored<Q5_K> : Q5_K {
  using Block = Q5_K;
  using Factors = FactorsOf32;
  [[gnu::always_inline]] static void unpack(const uint8_t* p, __m512i u[4]) {
    // Bit i of a byte belongs to the i-th 32 weights. It is moved to bit 4.
    const __m512i high = two_copies(p + 16);
    const __m512i fifth[4] = {_mm512_sllv_epi64(high, _mm512_set_epi64(2, 2, 2, 2, 4, 4, 4, 4)),
                              _mm512_sllv_epi64(high, _mm512_set_epi64(1, 1, 1, 1, 3, 3, 3, 3)),
                              shift_halves(high, 0, 2), shift_halves(high, 1, 3)};
    for (int i = 0; i < 4; ++i) {
      const __m512i bytes = _mm512_loadu_si512(p + 48 + 64 * (i / 2));
      const __m512i low =
          _mm512_and_si512(i % 2 == 0 ? bytes : _mm512_srli_epi16(bytes, 4), nibbles());
      u[i] = _mm512_ternarylogic_epi64(low, fifth[i], _mm512_set1_epi8(16), 0xf8);
    }
  }
};

template <>
struct Factored<Q6_K> : Q6_K {
  using Block = Q6_K;
  using Factors = FactorsQ6_K;
  [[gnu::always_inline]] static void unpack(const uint8_t* p, __m512i u[4]) {
    for (int i = 0; i < 4; ++i) {
      const __m512i bytes = _mm512_loadu_si512(p + 64 * (i / 2));
      const __m512i high = two_copies(p + 128 + 32 * (i / 2));
      const __m512i low =
          _mm512_and_si512(i % 2 == 0 ? bytes : _mm512_srli_epi16(bytes, 4), nibbles());
      const __m512i two = i % 2 == 0
                              ? _mm512_sllv_epi64(high, _mm512_set_epi64(2, 2, 2, 2, 4, 4, 4, 4))
                              : shift_halves(high, 0, 2);
      u[i] = _mm512_ternarylogic_epi64(low, two, _mm512_set1_epi8(48), 0xf8);
    }
  }
};

template <>
struct Factored<Q3_K> : Q3_K {
  using Block = Q3_K;
  using Factors = FactorsQ3_K;
  [[gnu::always_inline]] static void unpack(const uint8_t* p, __m512i u[4]) {
    // Bit i of a byte belongs to the i-th 32 weights. It is moved to bit 5.
    const __m512i third = two_copies(p);
    const __m512i high[4] = {_mm512_sllv_epi64(third, _mm512_set_epi64(4, 4, 4, 4, 5, 5, 5, 5)),
                             _mm512_sllv_epi64(third, _mm512_set_epi64(2, 2, 2, 2, 3, 3, 3, 3)),
                             _mm512_sllv_epi64(third, _mm512_set_epi64(0, 0, 0, 0, 1, 1, 1, 1)),
                             shift_halves(third, 1, 2)};
    for (int i = 0; i < 4; ++i) {
      // The two bits are moved to bits 3 and 4.
      const __m512i bytes = two_copies(p + 32 + 32 * (i / 2));
      const __m512i two = i % 2 == 0
                              ? _mm512_sllv_epi64(bytes, _mm512_set_epi64(1, 1, 1, 1, 3, 3, 3, 3))
                              : shift_halves(bytes, 1, 3);
      u[i] = _mm512_ternarylogic_epi64(_mm512_and_si512(two, _mm512_set1_epi8(24)), high[i],
                                       _mm512_set1_epi8(32), 0xf8);
    }
  }
};

template <>
struct Factored<Q2_K> : Q2_K {
  using Block = Q2_K;
  using Factors = FactorsQ2_K;
  [[gnu::always_inline]] static void unpack(const uint8_t* p, __m512i u[4]) {
    for (int i = 0; i < 4; ++i) u[i] = two_bits(p + 16, i);
  }
};

/// Unpacks Q4_K for dot products of 8 elements. The packed bytes are rearranged before they are
/// unpacked, which takes half as many steps.
template <>
[[gnu::always_inline]] inline void unpack_for_dots_of_8<Q4_K>(const uint8_t* p, __m512i u[4]) {
  const __m512i a = _mm512_loadu_si512(p + 16), b = _mm512_loadu_si512(p + 80);
  for (int i = 0; i < 2; ++i) {
    const __m512i bytes = i == 0 ? first_of_each_8(a, b) : second_of_each_8(a, b);
    u[i] = _mm512_and_si512(bytes, nibbles());
    u[2 + i] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), nibbles());
  }
}

}  // namespace
}  // namespace longhaul::LH_ISA
