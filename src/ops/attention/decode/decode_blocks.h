#pragma once
// Reads blocks of Q4_0 for decode_pairs.h. The integers of a block are exact in bf16 and are
// multiplied without the scale. For a key, the sum over each block is multiplied by the block's
// scale. For a value, the scale of the block is multiplied into the softmax weight of the token. No
// element is therefore rounded before it is multiplied. Include this only in *.isa.cc files, which
// are compiled once per instruction set.

#include "ops/attention/decode/decode_terms.h"

namespace longhaul::LH_ISA {

#if defined(__AVX512BF16__)
template <DType T>
inline constexpr bool kInBlocks = T == DType::Q4_0;
/// Size in bytes of 32 stored elements. In block formats, this is one block.
template <DType T>
inline constexpr int kBytesOf32 = kInBlocks<T> ? 18 : 64;

/// Returns a table of the numbers that nibbles represent, in bf16. Each number is stored twice, so
/// that bit 4 of an index has no effect.
static inline __m512i half_byte_numbers() {
  alignas(64) static constexpr uint16_t kNumbers[32] = {
      0xc100, 0xc0e0, 0xc0c0, 0xc0a0, 0xc080, 0xc040, 0xc000, 0xbf80,   // -8 to -1
      0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0,   // 0 to 7
      0xc100, 0xc0e0, 0xc0c0, 0xc0a0, 0xc080, 0xc040, 0xc000, 0xbf80,   //
      0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0};  //
  return _mm512_load_si512(kNumbers);
}

/// Returns the 32 elements at p in bf16, without the scale of their block.
template <DType T>
static inline __m512i load_numbers(const std::byte* p) {
  if constexpr (T == DType::BF16) {
    return _mm512_loadu_si512(p);
  } else {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 2));
    const __m256i low = _mm256_cvtepu8_epi16(bytes), high = _mm256_srli_epi16(low, 4);
    const __m512i index = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    return _mm512_permutexvar_epi16(index, half_byte_numbers());
  }
}

/// Loads the 32 elements at `first` and the 32 at `second` interleaved, in the order that
/// pair_element() describes.
template <DType T>
static inline void load_number_pairs(const std::byte* first, const std::byte* second,
                                     __m512bh pairs[2]) {
  if constexpr (T == DType::Q4_0) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + 2));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second + 2));
    const __m256i bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi8(a, b)),
                                                  _mm_unpackhi_epi8(a, b), 1);
    const __m512i index = _mm512_cvtepu8_epi16(bytes), table = half_byte_numbers();
    pairs[0] = (__m512bh)_mm512_permutexvar_epi16(index, table);
    pairs[1] = (__m512bh)_mm512_permutexvar_epi16(_mm512_srli_epi16(index, 4), table);
  } else {
    const __m512i a = load_numbers<T>(first), b = load_numbers<T>(second);
    pairs[0] = (__m512bh)_mm512_unpacklo_epi16(a, b);
    pairs[1] = (__m512bh)_mm512_unpackhi_epi16(a, b);
  }
}

/// Returns which element of a row load_number_pairs() loads at place t.
static inline int pair_element(DType type, int t) {
  return type == DType::Q4_0 ? t : unpacked_element(t);
}

/// Returns the scale at byte `at` of each of eight rows, beginning with row `begin`. The scales are
/// inserted into the register one by one. If they were first written to memory, a vector load of
/// them would stall.
static inline __m128i eight_scales(const std::byte* const* rows, int begin, int count, int at) {
  const auto scale = [&](int i) {
    uint16_t half;
    std::memcpy(&half, rows[begin + i < count ? begin + i : count - 1] + at, 2);
    return static_cast<int>(half);
  };
  __m128i halves = _mm_cvtsi32_si128(scale(0));
  halves = _mm_insert_epi16(halves, scale(1), 1);
  halves = _mm_insert_epi16(halves, scale(2), 2);
  halves = _mm_insert_epi16(halves, scale(3), 3);
  halves = _mm_insert_epi16(halves, scale(4), 4);
  halves = _mm_insert_epi16(halves, scale(5), 5);
  halves = _mm_insert_epi16(halves, scale(6), 6);
  return _mm_insert_epi16(halves, scale(7), 7);
}

/// Writes the scale of each block of row i to scales[block * stride + i], for each i < count. The
/// entries from `count` to the next multiple of 16 get a finite number.
template <DType T>
static inline void load_scales(const std::byte* const* rows, int count, int blocks, int stride,
                               float* scales) {
  for (int block = 0; block < blocks; ++block, scales += stride) {
    for (int i = 0; i < count; i += 8) {
      const __m128i halves = eight_scales(rows, i, count, block * kBytesOf32<T>);
      _mm256_storeu_ps(scales + i, _mm256_cvtph_ps(halves));
    }
    if ((count - 1) % 16 < 8) _mm256_storeu_ps(scales + (count + 7) / 8 * 8, _mm256_setzero_ps());
  }
}
#endif

}  // namespace longhaul::LH_ISA
