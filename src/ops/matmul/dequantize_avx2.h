#pragma once
// Converts blocks to bf16 with AVX2 (levels with AVX-512 have their own version). In a sub-block, a
// 4-bit quant represents one of 16 numbers. These are computed once. Byte shuffles then look them
// up, the low and the high bytes separately. Wider quants are converted one by one.
// dequantize.isa.cc includes this file after quant_blocks.h. The overloads of this file take
// precedence over the plain templates.

#if defined(__AVX2__) && !defined(__AVX512BW__)
#include <immintrin.h>

namespace longhaul::LH_ISA {
namespace {

/// Converts 16 f32 to bf16.
inline __m256i round_16(__m256 low, __m256 high) {
  const auto round = [](__m256 x) {
    const __m256i u = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
    return _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
  };
  return _mm256_permute4x64_epi64(_mm256_packus_epi32(round(low), round(high)), 0xd8);
}

inline void store(bf16_t* out, __m256i words) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), words);
}

inline __m256i load_32(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

inline __m256 from_0_to_7() { return _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7); }
inline __m256 from_8_to_15() { return _mm256_setr_ps(8, 9, 10, 11, 12, 13, 14, 15); }

inline __m256 line(float scale, __m256 x, float offset) {
  return _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(scale), x), _mm256_set1_ps(offset));
}

/// A table of the bf16 numbers that quants 0 to 15 represent. Their low bytes and high bytes are
/// separate.
struct NibbleTable {
  __m256i low, high;
  NibbleTable(__m256 first_8, __m256 last_8) {
    const __m256i words = round_16(first_8, last_8);
    const __m256i split = _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, 0,
                                           2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(words, split), 0xd8);
    low = _mm256_permute2x128_si256(bytes, bytes, 0x00);
    high = _mm256_permute2x128_si256(bytes, bytes, 0x11);
  }
  NibbleTable(float scale, float offset)
      : NibbleTable(line(scale, from_0_to_7(), offset), line(scale, from_8_to_15(), offset)) {}

  /// Writes the bf16 numbers of 32 quants, one quant per byte, to `out`.
  void look_up(__m256i quants, bf16_t* out) const {
    const __m256i low_bytes = _mm256_shuffle_epi8(low, quants);
    const __m256i high_bytes = _mm256_shuffle_epi8(high, quants);
    const __m256i a = _mm256_unpacklo_epi8(low_bytes, high_bytes);  // elements 0-7 and 16-23
    const __m256i b = _mm256_unpackhi_epi8(low_bytes, high_bytes);
    store(out, _mm256_permute2x128_si256(a, b, 0x20));
    store(out + 16, _mm256_permute2x128_si256(a, b, 0x31));
  }
};

inline __m256i low_halves(__m256i bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi8(15)); }

/// Returns the 32 quants of 16 bytes in order: the low nibbles, then the high nibbles.
inline __m256i nibbles_of_16(const uint8_t* qs) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(qs));
  return low_halves(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes));
}

inline NibbleTable iq4_table(float scale) {
  const __m256 d = _mm256_set1_ps(scale);
  return {_mm256_mul_ps(d, _mm256_loadu_ps(kIq4Levels)),
          _mm256_mul_ps(d, _mm256_loadu_ps(kIq4Levels + 8))};
}

inline void expand_bf16(Q4_0, const uint8_t* b, bf16_t* out) {
  const __m256 d = _mm256_set1_ps(load_half(b)), eight = _mm256_set1_ps(8);
  const NibbleTable table(_mm256_mul_ps(d, _mm256_sub_ps(from_0_to_7(), eight)),
                          _mm256_mul_ps(d, from_0_to_7()));
  table.look_up(nibbles_of_16(b + 2), out);
}

inline void expand_bf16(Q4_1, const uint8_t* b, bf16_t* out) {
  NibbleTable(load_half(b), load_half(b + 2)).look_up(nibbles_of_16(b + 4), out);
}

inline void expand_bf16(IQ4_NL, const uint8_t* b, bf16_t* out) {
  iq4_table(load_half(b)).look_up(nibbles_of_16(b + 2), out);
}

inline void expand_bf16(IQ4_XS, const uint8_t* b, bf16_t* out) {
  const float d = load_half(b);
  for (int sub = 0; sub < 8; ++sub) {
    const float step = d * static_cast<float>(IQ4_XS::scale(b, sub));
    iq4_table(step).look_up(nibbles_of_16(b + 8 + sub * 16), out + sub * 32);
  }
}

inline void expand_bf16(Q4_K, const uint8_t* b, bf16_t* out) {
  const float d = load_half(b), dmin = -load_half(b + 2);
  const ScalesAndMins s(b + 4);
  for (int sub = 0; sub < 8; ++sub) {
    const NibbleTable table(d * static_cast<float>(s.scale[sub]),
                            dmin * static_cast<float>(s.min[sub]));
    const __m256i bytes = load_32(b + 16 + sub / 2 * 32);
    const __m256i shifted = sub % 2 == 0 ? bytes : _mm256_srli_epi16(bytes, 4);
    table.look_up(low_halves(shifted), out + sub * 32);
  }
}

/// Writes step * byte + offset for each of 16 signed bytes, as bf16.
inline void line_of_bytes(__m128i bytes, float step, float offset, bf16_t* out) {
  const auto floats = [](__m128i x) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)); };
  store(out, round_16(line(step, floats(bytes), offset),
                      line(step, floats(_mm_unpackhi_epi64(bytes, bytes)), offset)));
}

inline void line_of_32_bytes(__m256i bytes, float step, float offset, bf16_t* out) {
  line_of_bytes(_mm256_castsi256_si128(bytes), step, offset, out);
  line_of_bytes(_mm256_extracti128_si256(bytes, 1), step, offset, out + 16);
}

constexpr float kNoOffset = -0.0f;  // x + -0.0f is x, also for 0.0f and -0.0f

/// Multiplies 32 signed bytes by scales and writes them as bf16. Bytes 0 to 15 have one scale, and
/// bytes 16 to 31 have another.
inline void scale_bytes(__m256i bytes, float low_scale, float high_scale, bf16_t* out) {
  line_of_bytes(_mm256_castsi256_si128(bytes), low_scale, kNoOffset, out);
  line_of_bytes(_mm256_extracti128_si256(bytes, 1), high_scale, kNoOffset, out + 16);
}

inline void expand_bf16(Q8_0, const uint8_t* b, bf16_t* out) {
  line_of_32_bytes(load_32(b + 2), load_half(b), kNoOffset, out);
}

/// Returns 32 bytes. Byte i is 16 if bit i of `bits` is set, and otherwise 0.
inline __m256i fifth_bits(uint32_t bits) {
  const __m256i spread =
      _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)),
                          _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                           2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

inline void expand_bf16(Q5_0, const uint8_t* b, bf16_t* out) {
  const __m256i q = _mm256_or_si256(nibbles_of_16(b + 6), fifth_bits(load_u32(b + 2)));
  line_of_32_bytes(_mm256_sub_epi8(q, _mm256_set1_epi8(16)), load_half(b), kNoOffset, out);
}

inline void expand_bf16(Q5_1, const uint8_t* b, bf16_t* out) {
  const __m256i q = _mm256_or_si256(nibbles_of_16(b + 8), fifth_bits(load_u32(b + 4)));
  line_of_32_bytes(q, load_half(b), load_half(b + 2), out);
}

inline void expand_bf16(Q5_K, const uint8_t* b, bf16_t* out) {
  const float d = load_half(b), dmin = -load_half(b + 2);
  const ScalesAndMins s(b + 4);
  __m256i high = load_32(b + 16);
  for (int sub = 0; sub < 8; ++sub) {
    const __m256i bytes = load_32(b + 48 + sub / 2 * 32);
    const __m256i low = low_halves(sub % 2 == 0 ? bytes : _mm256_srli_epi16(bytes, 4));
    const __m256i bit = _mm256_and_si256(high, _mm256_set1_epi8(1));
    line_of_32_bytes(_mm256_or_si256(low, _mm256_slli_epi16(bit, 4)),
                     d * static_cast<float>(s.scale[sub]), dmin * static_cast<float>(s.min[sub]),
                     out + sub * 32);
    high = _mm256_srli_epi16(high, 1);  // bits that cross into other bytes are masked off above
  }
}

inline void expand_bf16(Q3_K, const uint8_t* b, bf16_t* out) {
  const float d = load_half(b + 108);
  __m256i high = load_32(b);
  // Each iteration converts 32 elements. Their high bits are bit `row` of the 32 high bytes.
  for (int row = 0; row < 8; ++row) {
    const __m256i low = _mm256_srli_epi16(load_32(b + 32 + row / 4 * 32), row % 4 * 2);
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
  const float d = load_half(b + 208);
  // Each iteration converts 32 elements. Four iterations use the same bytes of high bits.
  for (int row = 0; row < 8; ++row) {
    const __m256i bytes = load_32(b + row / 4 * 64 + row % 2 * 32);
    const __m256i low = low_halves(row % 4 < 2 ? bytes : _mm256_srli_epi16(bytes, 4));
    const __m256i pairs = _mm256_srli_epi16(load_32(b + 128 + row / 4 * 32), row % 4 * 2);
    const __m256i pair = _mm256_and_si256(pairs, _mm256_set1_epi8(3));
    const __m256i q =
        _mm256_sub_epi8(_mm256_or_si256(low, _mm256_slli_epi16(pair, 4)), _mm256_set1_epi8(32));
    const auto* scales = reinterpret_cast<const int8_t*>(b + 192 + row * 2);
    scale_bytes(q, d * static_cast<float>(scales[0]), d * static_cast<float>(scales[1]),
                out + row * 32);
  }
}

}  // namespace
}  // namespace longhaul::LH_ISA
#endif
