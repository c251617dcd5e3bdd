#pragma once
// The AVX-512 version of weight_blocks.h. A weight is d * u + m. scales() returns the 16 factors d
// and constants m of a group of 256 weights. quarter(p, j) returns u of weights 64 * j to
// 64 * j + 63 of the group as unsigned bytes.

#include <immintrin.h>

#include "ops/matmul/block_factors.h"
#include "ops/matmul/small_blocks_avx512.h"

namespace longhaul::LH_ISA {
namespace {

inline __m512i nibbles() { return _mm512_set1_epi8(15); }

/// Unpacks the nibbles of 16 bytes at a and 16 bytes at b to 64 bytes: the low and high nibbles of
/// a, then the low and high nibbles of b.
inline __m512i halves_of_two(const uint8_t* a, const uint8_t* b) {
  const __m512i first =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)));
  const __m512i both = _mm512_mask_broadcast_i32x4(
      first, 0xff00, _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
  const __m512i shifted = _mm512_srlv_epi64(both, _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0));
  return _mm512_and_si512(shifted, nibbles());
}

inline __m512i map_iq4(__m512i index) {
  const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values));
  const __m128i above_zero = _mm_xor_si128(values, _mm_set1_epi8(-128));
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(above_zero), index);
}

/// Sets bit 4 of byte i of u if bit i is set. Bits 0 to 31 are in `first`, and bits 32 to 63 are in
/// `second`.
inline __m512i add_fifth_bits(__m512i u, uint32_t first, uint32_t second) {
  const __mmask64 bits = static_cast<uint64_t>(second) << 32 | first;
  return _mm512_mask_add_epi8(u, bits, u, _mm512_set1_epi8(16));
}

/// Types with 32 weights per block. scales() loads the first four bytes of up to 8 blocks: an f16
/// factor and, in some types, an f16 minimum.
template <class Type>
struct Registers32 : Type {
  [[gnu::always_inline]] static void scales(const uint8_t* p, int blocks, __m512& d, __m512& m) {
    const __m256i heads =
        _mm256_setr_m128i(four_heads<Type>(p, 0, blocks), four_heads<Type>(p, 4, blocks));
    const __m512 pairs = _mm512_cvtph_ps(heads);  // factor, minimum, factor, minimum, and so on
    d = _mm512_moveldup_ps(pairs);
    m = Type::kHasMin ? _mm512_movehdup_ps(pairs)
                      : _mm512_mul_ps(d, _mm512_set1_ps(-Type::kOffset));
  }
  static __m512i quarter(const uint8_t* p, int j) {
    return Registers32::two_blocks(p + 2 * j * Type::kBytes, p + (2 * j + 1) * Type::kBytes);
  }
  static __m512i two_blocks(const uint8_t* a, const uint8_t* b);
};

template <>
inline __m512i Registers32<Q4_0>::two_blocks(const uint8_t* a, const uint8_t* b) {
  return halves_of_two(a + 2, b + 2);
}
template <>
inline __m512i Registers32<Q4_1>::two_blocks(const uint8_t* a, const uint8_t* b) {
  return halves_of_two(a + 4, b + 4);
}
template <>
inline __m512i Registers32<Q5_0>::two_blocks(const uint8_t* a, const uint8_t* b) {
  return add_fifth_bits(halves_of_two(a + 6, b + 6), load_u32(a + 2), load_u32(b + 2));
}
template <>
inline __m512i Registers32<Q5_1>::two_blocks(const uint8_t* a, const uint8_t* b) {
  return add_fifth_bits(halves_of_two(a + 8, b + 8), load_u32(a + 4), load_u32(b + 4));
}
template <>
inline __m512i Registers32<Q8_0>::two_blocks(const uint8_t* a, const uint8_t* b) {
  const __m512i both = _mm512_mask_broadcast_i64x4(
      _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + 2))), 0xf0,
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 2)));
  return _mm512_xor_si512(both, _mm512_set1_epi8(-128));
}
template <>
inline __m512i Registers32<IQ4_NL>::two_blocks(const uint8_t* a, const uint8_t* b) {
  return map_iq4(halves_of_two(a + 2, b + 2));
}

struct RegistersIQ4_XS : IQ4_XS {
  static void scales(const uint8_t* p, int, __m512& d, __m512& m) {
    d = _mm512_permutexvar_ps(_mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0),
                              _mm512_castps256_ps512(iq4_xs_factors(p)));
    m = _mm512_mul_ps(d, _mm512_set1_ps(-128.0f));
  }
  static __m512i quarter(const uint8_t* p, int j) {
    return map_iq4(halves_of_two(p + 8 + 32 * j, p + 24 + 32 * j));
  }
};

struct RegistersMXFP4 : MXFP4 {
  static void scales(const uint8_t* p, int blocks, __m512& d, __m512& m) {
    const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    d = _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(mxfp4_factors(p, blocks)));
    m = _mm512_mul_ps(d, _mm512_set1_ps(-kOffset));
  }
  static __m512i quarter(const uint8_t* p, int j) {
    return two_blocks(p + 2 * j * kBytes, p + (2 * j + 1) * kBytes);
  }
  static __m512i two_blocks(const uint8_t* a, const uint8_t* b) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(fp4_levels()), halves_of_two(a + 1, b + 1));
  }
};

}  // namespace
}  // namespace longhaul::LH_ISA
