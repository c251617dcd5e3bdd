#pragma once
// The AVX2 version of weight_blocks.h. A weight is d * u + m. block(p, j) returns u of weights
// 32 * j to 32 * j + 31 of a group of 256 as unsigned bytes. factors(p, blocks) returns the factors
// d and constants m of the group. All numbers stay in registers, because a vector load of numbers
// that were just stored one by one would stall.

#include <immintrin.h>

#include "ops/matmul/block_factors.h"

namespace longhaul::LH_ISA {
namespace {

inline __m256i bytes32(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

/// Shifts the bytes right and keeps the bits of `mask`. The shift is within words of 16 bits, so
/// bits move from one byte to the other.
[[gnu::always_inline]] inline __m256i bits_at(__m256i v, int shift, char mask) {
  return _mm256_and_si256(shift == 0 ? v : _mm256_srli_epi16(v, shift), _mm256_set1_epi8(mask));
}

/// The factors d and constants m of 16 runs of 16 weights (weight = d * u + m).
struct Factors {
  __m256 d[2], m[2];
};

inline __m256 floats_of_signed(__m128i bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

/// Computes d = factor * byte and m = d * offset for 16 signed bytes.
inline Factors factors_of_16(__m128i bytes, float factor, float offset) {
  Factors f;
  f.d[0] = _mm256_mul_ps(floats_of_signed(bytes), _mm256_set1_ps(factor));
  f.d[1] =
      _mm256_mul_ps(floats_of_signed(_mm_unpackhi_epi64(bytes, bytes)), _mm256_set1_ps(factor));
  for (int i = 0; i < 2; ++i) f.m[i] = _mm256_mul_ps(f.d[i], _mm256_set1_ps(offset));
  return f;
}

/// Writes each of eight numbers twice in a row.
inline void twice(__m256 x, __m256 out[2]) {
  out[0] = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  out[1] = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7));
}

inline __m128i two_words(uint32_t low, uint32_t high) {
  return _mm_cvtsi64_si128(static_cast<int64_t>(uint64_t{high} << 32 | low));
}

/// Types with 32 weights per block. The first four bytes of a block hold an f16 factor and, in some
/// types, an f16 minimum.
template <class Type>
struct Factors32 : Type {
  [[gnu::always_inline]] static Factors factors(const uint8_t* p, int blocks) {
    Factors f;
    for (int i = 0; i < 2; ++i) {
      // The f16 numbers are a factor, a minimum, a factor, a minimum, and so on.
      const __m256 pairs = _mm256_cvtph_ps(four_heads<Type>(p, 4 * i, blocks));
      f.d[i] = _mm256_moveldup_ps(pairs);
      f.m[i] = Type::kHasMin ? _mm256_movehdup_ps(pairs)
                             : _mm256_mul_ps(f.d[i], _mm256_set1_ps(-Type::kOffset));
    }
    return f;
  }
};

/// Returns the factors of a block of Q4_K or Q5_K (see unpack_k_scales).
inline Factors factors_with_minima(const uint8_t* p) {
  const uint32_t a = load_u32(p + 4), b = load_u32(p + 8), c = load_u32(p + 12);
  const __m128i factors =
      two_words(a & 0x3f3f3f3fu, (c & 0x0f0f0f0fu) | (a >> 6 & 0x03030303u) << 4);
  const __m128i minima =
      two_words(b & 0x3f3f3f3fu, (c >> 4 & 0x0f0f0f0fu) | (b >> 6 & 0x03030303u) << 4);
  Factors f;
  twice(_mm256_mul_ps(floats_of_signed(factors), _mm256_set1_ps(load_f16(p))), f.d);
  twice(_mm256_mul_ps(floats_of_signed(minima), _mm256_set1_ps(-load_f16(p + 2))), f.m);
  return f;
}

/// Returns the 32 nibbles of 16 bytes: first the low nibbles, then the high nibbles.
inline __m256i halves(const uint8_t* p) {
  const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m256i both = _mm256_set_m128i(_mm_srli_epi16(packed, 4), packed);
  return _mm256_and_si256(both, _mm256_set1_epi8(15));
}

/// Returns 32 bytes. Byte i is 16 if bit i of the word is set, and otherwise 0.
inline __m256i fifth_bits(const uint8_t* p) {
  const __m256i word = _mm256_set1_epi32(static_cast<int>(load_u32(p)));
  const __m256i spread = _mm256_shuffle_epi8(
      word, _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
  const __m256i present = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
  return _mm256_and_si256(present, _mm256_set1_epi8(16));
}

inline __m256i iq4_bytes(__m256i index) {
  const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values));
  const __m128i above_zero = _mm_xor_si128(values, _mm_set1_epi8(-128));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(above_zero), index);
}

struct BlocksQ4_0 : Factors32<Q4_0> {
  static __m256i block(const uint8_t* p, int j) { return halves(p + j * kBytes + 2); }
};
struct BlocksQ4_1 : Factors32<Q4_1> {
  static __m256i block(const uint8_t* p, int j) { return halves(p + j * kBytes + 4); }
};
struct BlocksQ5_0 : Factors32<Q5_0> {
  static __m256i block(const uint8_t* p, int j) {
    p += j * kBytes;
    return _mm256_or_si256(halves(p + 6), fifth_bits(p + 2));
  }
};
struct BlocksQ5_1 : Factors32<Q5_1> {
  static __m256i block(const uint8_t* p, int j) {
    p += j * kBytes;
    return _mm256_or_si256(halves(p + 8), fifth_bits(p + 4));
  }
};
struct BlocksQ8_0 : Factors32<Q8_0> {
  static __m256i block(const uint8_t* p, int j) {
    return _mm256_xor_si256(bytes32(p + j * kBytes + 2), _mm256_set1_epi8(-128));
  }
};
struct BlocksIQ4_NL : Factors32<IQ4_NL> {
  static __m256i block(const uint8_t* p, int j) { return iq4_bytes(halves(p + j * kBytes + 2)); }
};
struct BlocksMXFP4 : MXFP4 {
  static constexpr bool kScalePer16 = false, kAbove127 = false;
  static Factors factors(const uint8_t* p, int blocks) {
    Factors f;
    twice(mxfp4_factors(p, blocks), f.d);
    for (int i = 0; i < 2; ++i) f.m[i] = _mm256_mul_ps(f.d[i], _mm256_set1_ps(-kOffset));
    return f;
  }
  static __m256i block(const uint8_t* p, int j) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(fp4_levels()),
                               halves(p + j * kBytes + 1));
  }
};
struct BlocksIQ4_XS : IQ4_XS {
  static Factors factors(const uint8_t* p, int) {
    Factors f;
    twice(iq4_xs_factors(p), f.d);
    for (int i = 0; i < 2; ++i) f.m[i] = _mm256_mul_ps(f.d[i], _mm256_set1_ps(-128.0f));
    return f;
  }
  static __m256i block(const uint8_t* p, int j) { return iq4_bytes(halves(p + 8 + 16 * j)); }
};
template <class Type>
struct KBlocks;
template <>
struct KBlocks<Q4_K> : Q4_K {
  static Factors factors(const uint8_t* p, int) { return factors_with_minima(p); }
  static __m256i block(const uint8_t* p, int j) {
    return bits_at(bytes32(p + 16 + 32 * (j / 2)), j % 2 * 4, 15);
  }
};
template <>
struct KBlocks<Q5_K> : Q5_K {
  static Factors factors(const uint8_t* p, int) { return factors_with_minima(p); }
  static __m256i block(const uint8_t* p, int j) {
    const __m256i fifth = _mm256_slli_epi16(bits_at(bytes32(p + 16), j, 1), 4);
    return _mm256_or_si256(bits_at(bytes32(p + 48 + 32 * (j / 2)), j % 2 * 4, 15), fifth);
  }
};
template <>
struct KBlocks<Q6_K> : Q6_K {
  static Factors factors(const uint8_t* p, int) {
    const __m128i scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 192));
    return factors_of_16(scales, load_f16(p + 208), -32.0f);
  }
  static __m256i block(const uint8_t* p, int j) {
    const int half = j / 4, quarter = j % 4;
    const __m256i low = bytes32(p + 64 * half + quarter % 2 * 32);
    const __m256i high = bits_at(bytes32(p + 128 + 32 * half), 2 * quarter, 3);
    return _mm256_or_si256(bits_at(low, quarter / 2 * 4, 15), _mm256_slli_epi16(high, 4));
  }
};
template <>
struct KBlocks<Q3_K> : Q3_K {
  static Factors factors(const uint8_t* p, int) {
    const uint32_t a = load_u32(p + 96), b = load_u32(p + 100), c = load_u32(p + 104);
    const __m128i low = two_words((a & 0x0f0f0f0fu) | (c & 0x03030303u) << 4,
                                  (b & 0x0f0f0f0fu) | (c >> 2 & 0x03030303u) << 4);
    const __m128i high = two_words((a >> 4 & 0x0f0f0f0fu) | (c >> 4 & 0x03030303u) << 4,
                                   (b >> 4 & 0x0f0f0f0fu) | (c >> 6 & 0x03030303u) << 4);
    const __m128i scales = _mm_sub_epi8(_mm_unpacklo_epi64(low, high), _mm_set1_epi8(32));
    return factors_of_16(scales, load_f16(p + 108), -4.0f);
  }
  static __m256i block(const uint8_t* p, int j) {
    const __m256i low = bits_at(bytes32(p + 32 + 32 * (j / 4)), j % 4 * 2, 3);
    return _mm256_or_si256(low, _mm256_slli_epi16(bits_at(bytes32(p), j, 1), 2));
  }
};

}  // namespace
}  // namespace longhaul::LH_ISA
