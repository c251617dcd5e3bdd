#pragma once
// Converts blocks to bf16 with AVX-512. In a sub-block, a 4- or 5-bit quant represents one of at
// most 32 numbers. These are computed once and rounded to bf16. One vpermw instruction then looks
// up 32 elements. dequantize.isa.cc includes this file after quant_blocks.h. The overloads of this
// file take precedence over the plain templates.

#ifdef __AVX512BW__
#include <immintrin.h>

#include "ops/matmul/small_blocks_avx512.h"

namespace longhaul::LH_ISA {
namespace {

/// Converts 32 f32 to bf16. The instruction treats subnormal inputs as zero. Block types and f16
/// yield no subnormal f32, because every number is a multiple of 2^-24.
inline __m512i pack_bf16(__m512 low, __m512 high) {
#ifdef __AVX512BF16__
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
#else
  const auto round = [](__m512 x) {
    const __m512i u = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(up, nan, u, _mm512_set1_epi32(0x400000));
  };
  // Word i of the result is word 2 * i + 1 of the two inputs.
  const __m512i upper_words = _mm512_add_epi32(
      _mm512_set1_epi32(0x00030001),
      _mm512_mullo_epi32(_mm512_set1_epi32(0x00040004),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
  return _mm512_permutex2var_epi16(round(low), upper_words, round(high));
#endif
}

/// Converts 32 f16 to bf16.
inline void halves_to_bf16(const uint8_t* p, bf16_t* out) {
  const auto floats = [](const uint8_t* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  };
  _mm512_storeu_si512(out, pack_bf16(floats(p), floats(p + 32)));
}

inline __m512 from_0_to_15() {
  return _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

inline __m512 line(float scale, __m512 x, float offset) {
  return _mm512_add_ps(_mm512_mul_ps(_mm512_set1_ps(scale), x), _mm512_set1_ps(offset));
}

/// Returns the 16 bytes of a block of 32 elements as 32 words of 16 bits: first the bytes, then the
/// bytes shifted right by 4.
inline __m512i nibble_words(const uint8_t* qs) {
  const __m256i bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(qs)));
  return _mm512_inserti64x4(_mm512_castsi256_si512(bytes), _mm256_srli_epi16(bytes, 4), 1);
}

/// Converts 32 elements, each of which is one of the 16 numbers `values`. The table holds each
/// number twice, so that bit 4 of an index has no effect.
inline void look_up_nibbles(const uint8_t* qs, __m512 values, bf16_t* out) {
  const __m512i table = pack_bf16(values, values);
  _mm512_storeu_si512(out, _mm512_permutexvar_epi16(nibble_words(qs), table));
}

inline void look_up_5_bits(const uint8_t* qs, uint32_t high, __m512 low_values, __m512 high_values,
                           bf16_t* out) {
  const __m512i fifth = _mm512_set1_epi16(16);
  const __m512i nibbles = _mm512_andnot_si512(fifth, nibble_words(qs));
  const __m512i index = _mm512_mask_add_epi16(nibbles, high, nibbles, fifth);
  _mm512_storeu_si512(out, _mm512_permutexvar_epi16(index, pack_bf16(low_values, high_values)));
}

inline void expand_bf16(Q4_0, const uint8_t* b, bf16_t* out) {
  const __m512 values = _mm512_sub_ps(from_0_to_15(), _mm512_set1_ps(8));
  look_up_nibbles(b + 2, _mm512_mul_ps(_mm512_set1_ps(load_half(b)), values), out);
}

inline void expand_bf16(Q4_1, const uint8_t* b, bf16_t* out) {
  look_up_nibbles(b + 4, line(load_half(b), from_0_to_15(), load_half(b + 2)), out);
}

inline void expand_bf16(IQ4_NL, const uint8_t* b, bf16_t* out) {
  const __m512 levels = _mm512_loadu_ps(kIq4Levels);
  look_up_nibbles(b + 2, _mm512_mul_ps(_mm512_set1_ps(load_half(b)), levels), out);
}

inline void expand_bf16(IQ4_XS, const uint8_t* b, bf16_t* out) {
  const float d = load_half(b);
  const __m512 levels = _mm512_loadu_ps(kIq4Levels);
  for (int sub = 0; sub < 8; ++sub) {
    const float step = d * static_cast<float>(IQ4_XS::scale(b, sub));
    look_up_nibbles(b + 8 + sub * 16, _mm512_mul_ps(_mm512_set1_ps(step), levels), out + sub * 32);
  }
}

inline void expand_bf16(Q5_0, const uint8_t* b, bf16_t* out) {
  const __m512 d = _mm512_set1_ps(load_half(b));
  const __m512 below = _mm512_sub_ps(from_0_to_15(), _mm512_set1_ps(16));
  look_up_5_bits(b + 6, load_u32(b + 2), _mm512_mul_ps(d, below), _mm512_mul_ps(d, from_0_to_15()),
                 out);
}

inline __m512 from_16_to_31() { return _mm512_add_ps(from_0_to_15(), _mm512_set1_ps(16)); }

inline void expand_bf16(Q5_1, const uint8_t* b, bf16_t* out) {
  const float d = load_half(b), m = load_half(b + 2);
  look_up_5_bits(b + 8, load_u32(b + 4), line(d, from_0_to_15(), m), line(d, from_16_to_31(), m),
                 out);
}

/// The step and the offset (negated minimum) of each of the 8 sub-blocks of a block.
struct SubBlockLines {
  alignas(32) float step[8];
  alignas(32) float offset[8];
  explicit SubBlockLines(const uint8_t* b) {
    const ScalesAndMins s(b + 4);
    const auto floats = [](const uint8_t* bytes) {
      return _mm256_cvtepi32_ps(
          _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))));
    };
    _mm256_store_ps(step, _mm256_mul_ps(_mm256_set1_ps(load_half(b)), floats(s.scale)));
    _mm256_store_ps(offset, _mm256_mul_ps(_mm256_set1_ps(-load_half(b + 2)), floats(s.min)));
  }
};

inline __m512i byte_words(const uint8_t* p) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

inline void expand_bf16(Q4_K, const uint8_t* b, bf16_t* out) {
  const SubBlockLines lines(b);
  const __m512i second_table = _mm512_set1_epi16(16);
  for (int pair = 0; pair < 4; ++pair) {  // two sub-blocks share 32 bytes
    const int even = 2 * pair, odd = even + 1;
    const __m512i table = pack_bf16(line(lines.step[even], from_0_to_15(), lines.offset[even]),
                                    line(lines.step[odd], from_0_to_15(), lines.offset[odd]));
    const __m512i words = byte_words(b + 16 + pair * 32);
    const __m512i low = _mm512_andnot_si512(second_table, words);
    const __m512i high = _mm512_or_si512(second_table, _mm512_srli_epi16(words, 4));
    _mm512_storeu_si512(out + pair * 64, _mm512_permutexvar_epi16(low, table));
    _mm512_storeu_si512(out + pair * 64 + 32, _mm512_permutexvar_epi16(high, table));
  }
}

inline void expand_bf16(Q5_K, const uint8_t* b, bf16_t* out) {
  const SubBlockLines lines(b);
  const __m512i fifth = _mm512_set1_epi16(16);
  // The high bit of sub-block 0 becomes bit 4 of each word.
  const __m512i high_bits = _mm512_slli_epi16(byte_words(b + 16), 4);
  const auto store = [&](int sub, __m512i nibbles) {
    const __m512i table = pack_bf16(line(lines.step[sub], from_0_to_15(), lines.offset[sub]),
                                    line(lines.step[sub], from_16_to_31(), lines.offset[sub]));
    const __m512i high = _mm512_srl_epi16(high_bits, _mm_cvtsi32_si128(sub));
    // selects the bit of `high` where `fifth` is set, and else the bit of `nibbles`
    const __m512i index = _mm512_ternarylogic_epi32(fifth, high, nibbles, 0xca);
    _mm512_storeu_si512(out + sub * 32, _mm512_permutexvar_epi16(index, table));
  };
  for (int pair = 0; pair < 4; ++pair) {
    const __m512i words = byte_words(b + 48 + pair * 32);
    store(2 * pair, words);
    store(2 * pair + 1, _mm512_srli_epi16(words, 4));
  }
}

/// Converts a block of MXFP4. Each of its 16 numbers is a power of two times an integer below 16.
/// Such a number is exact in bf16, even if it is subnormal. pack_bf16() is not used, because it
/// would replace subnormal numbers by zero.
inline void expand_bf16(Expanded<MXFP4>, const uint8_t* b, bf16_t* out) {
  const __m128i levels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kFp4Levels));
  const __m512 centred = _mm512_sub_ps(floats_of(levels), _mm512_set1_ps(MXFP4::kOffset));
  const __m512 values = times(MXFP4::half_of_power(*b), centred);
  const __m256i upper = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(values), 16));
  const __m512i table = _mm512_broadcast_i64x4(upper);
  _mm512_storeu_si512(out, _mm512_permutexvar_epi16(nibble_words(b + 1), table));
}

/// Converts those types of small_blocks.h that are also implemented with intrinsics. The results
/// are bitwise equal to those of the plain loops.
template <class Type>
requires requires(const uint8_t* p) { SmallRegisters<Type>::quarter(p, 0); }
inline void expand_bf16(Expanded<Type>, const uint8_t* b, bf16_t* out) {
  __m512 d, m;
  SmallRegisters<Type>::scales(b, 1, d, m);
  alignas(64) float factor[16], constant[16];
  _mm512_store_ps(factor, d);
  _mm512_store_ps(constant, m);
  for (int j = 0; j < 4; ++j) {
    alignas(64) uint8_t u[64];
    _mm512_store_si512(u, SmallRegisters<Type>::quarter(b, j));
    const auto sixteen = [&](int k) {
      const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(u + 16 * k));
      const __m512 d16 = _mm512_set1_ps(factor[4 * j + k]), u16 = floats_of(bytes);
      if constexpr (Type::kHasMin) {
        return _mm512_fmadd_ps(u16, d16, _mm512_set1_ps(constant[4 * j + k]));
      } else {
        return _mm512_mul_ps(_mm512_sub_ps(u16, _mm512_set1_ps(Type::kOffset)), d16);
      }
    };
    _mm512_storeu_si512(out + 64 * j, pack_bf16(sixteen(0), sixteen(1)));
    _mm512_storeu_si512(out + 64 * j + 32, pack_bf16(sixteen(2), sixteen(3)));
  }
}

/// Multiplies 32 signed bytes by scales and writes them as bf16. Bytes 0 to 15 have one scale, and
/// bytes 16 to 31 have another.
inline void scale_bytes(__m256i bytes, float low_scale, float high_scale, bf16_t* out) {
  const __m512 low = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_castsi256_si128(bytes)));
  const __m512 high = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_extracti128_si256(bytes, 1)));
  _mm512_storeu_si512(out, pack_bf16(_mm512_mul_ps(low, _mm512_set1_ps(low_scale)),
                                     _mm512_mul_ps(high, _mm512_set1_ps(high_scale))));
}

inline __m256i load_bytes(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

inline void expand_bf16(Q8_0, const uint8_t* b, bf16_t* out) {
  const float d = load_half(b);
  scale_bytes(load_bytes(b + 2), d, d, out);
}

inline void expand_bf16(Q3_K, const uint8_t* b, bf16_t* out) {
  const float d = load_half(b + 108);
  __m256i high = load_bytes(b);
  // Each iteration converts 32 elements. Their high bits are bit `row` of the 32 high bytes.
  for (int row = 0; row < 8; ++row) {
    const __m256i low = _mm256_srli_epi16(load_bytes(b + 32 + row / 4 * 32), row % 4 * 2);
    const __m256i bit = _mm256_and_si256(high, _mm256_set1_epi8(1));
    const __m256i q =
        _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi8(3)), _mm256_slli_epi16(bit, 2));
    scale_bytes(_mm256_sub_epi8(q, _mm256_set1_epi8(4)),
                d * static_cast<float>(Q3_K::scale(b + 96, 2 * row)),
                d * static_cast<float>(Q3_K::scale(b + 96, 2 * row + 1)), out + row * 32);
    high = _mm256_srli_epi16(high, 1);  // bits that cross into other bytes are masked off above
  }
}

inline void expand_bf16(Q6_K, const uint8_t* b, bf16_t* out) {
  alignas(64) float step[16];
  const __m128i scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + 192));
  _mm512_store_ps(step, _mm512_mul_ps(_mm512_set1_ps(load_half(b + 208)),
                                      _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(scales))));
  const __m256i low4 = _mm256_set1_epi8(15), pair = _mm256_set1_epi8(0x30);
  for (int half = 0; half < 2; ++half) {
    const __m256i low_a = load_bytes(b + half * 64), low_b = load_bytes(b + half * 64 + 32);
    const __m256i high = load_bytes(b + 128 + half * 32);
    const auto store = [&](int row, __m256i low, __m256i high_at_4) {
      const __m256i q =
          _mm256_or_si256(_mm256_and_si256(low, low4), _mm256_and_si256(high_at_4, pair));
      const float* s = step + half * 8 + row * 2;
      scale_bytes(_mm256_sub_epi8(q, _mm256_set1_epi8(32)), s[0], s[1],
                  out + half * 128 + row * 32);
    };
    store(0, low_a, _mm256_slli_epi16(high, 4));
    store(1, low_b, _mm256_slli_epi16(high, 2));
    store(2, _mm256_srli_epi16(low_a, 4), high);
    store(3, _mm256_srli_epi16(low_b, 4), _mm256_srli_epi16(high, 2));
  }
}

}  // namespace
}  // namespace longhaul::LH_ISA
#endif
