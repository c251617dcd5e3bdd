#pragma once
// weight_blocks.h in AVX2 registers: block(p, j) gives weights 32 j to 32 j + 31 of a group of 256
// as unsigned bytes. The factors come from the plain loops.

#include <immintrin.h>

#include "ops/cpu/weight_blocks.h"

namespace longhaul::LH_ISA {
namespace {

inline __m256i bytes32(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

/// Shifts the bytes right (within 16 bits: mask what is wanted) and keeps the bits of `mask`.
inline __m256i bits_at(__m256i v, int shift, char mask) {
  return _mm256_and_si256(_mm256_srl_epi16(v, _mm_cvtsi32_si128(shift)), _mm256_set1_epi8(mask));
}

/// 16 bytes: low halves, then high halves.
inline __m256i halves(const uint8_t* p) {
  const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m256i both = _mm256_set_m128i(_mm_srli_epi16(packed, 4), packed);
  return _mm256_and_si256(both, _mm256_set1_epi8(15));
}

/// Bit i of the word as the value 16 in byte i.
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

struct BlocksQ4_0 : Q4_0 {
  static __m256i block(const uint8_t* p, int j) { return halves(p + j * kBytes + 2); }
};
struct BlocksQ4_1 : Q4_1 {
  static __m256i block(const uint8_t* p, int j) { return halves(p + j * kBytes + 4); }
};
struct BlocksQ5_0 : Q5_0 {
  static __m256i block(const uint8_t* p, int j) {
    p += j * kBytes;
    return _mm256_or_si256(halves(p + 6), fifth_bits(p + 2));
  }
};
struct BlocksQ5_1 : Q5_1 {
  static __m256i block(const uint8_t* p, int j) {
    p += j * kBytes;
    return _mm256_or_si256(halves(p + 8), fifth_bits(p + 4));
  }
};
struct BlocksQ8_0 : Q8_0 {
  static __m256i block(const uint8_t* p, int j) {
    return _mm256_xor_si256(bytes32(p + j * kBytes + 2), _mm256_set1_epi8(-128));
  }
};
struct BlocksIQ4_NL : IQ4_NL {
  static __m256i block(const uint8_t* p, int j) { return iq4_bytes(halves(p + j * kBytes + 2)); }
};
struct BlocksIQ4_XS : IQ4_XS {
  static __m256i block(const uint8_t* p, int j) { return iq4_bytes(halves(p + 8 + 16 * j)); }
};
struct BlocksQ4_K : Q4_K {
  static __m256i block(const uint8_t* p, int j) {
    return bits_at(bytes32(p + 16 + 32 * (j / 2)), j % 2 * 4, 15);
  }
};
struct BlocksQ5_K : Q5_K {
  static __m256i block(const uint8_t* p, int j) {
    const __m256i fifth = _mm256_slli_epi16(bits_at(bytes32(p + 16), j, 1), 4);
    return _mm256_or_si256(bits_at(bytes32(p + 48 + 32 * (j / 2)), j % 2 * 4, 15), fifth);
  }
};
struct BlocksQ6_K : Q6_K {
  static __m256i block(const uint8_t* p, int j) {
    const int half = j / 4, quarter = j % 4;
    const __m256i low = bytes32(p + 64 * half + quarter % 2 * 32);
    const __m256i high = bits_at(bytes32(p + 128 + 32 * half), 2 * quarter, 3);
    return _mm256_or_si256(bits_at(low, quarter / 2 * 4, 15), _mm256_slli_epi16(high, 4));
  }
};
struct BlocksQ3_K : Q3_K {
  static __m256i block(const uint8_t* p, int j) {
    const __m256i low = bits_at(bytes32(p + 32 + 32 * (j / 4)), j % 4 * 2, 3);
    return _mm256_or_si256(low, _mm256_slli_epi16(bits_at(bytes32(p), j, 1), 2));
  }
};

}  // namespace
}  // namespace longhaul::LH_ISA
