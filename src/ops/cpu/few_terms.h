#pragma once
// What products of few rows in bf16 share. For *.isa.cc only.

#include "ops/cpu/key_rows.h"

namespace longhaul::LH_ISA {

/// x = high + low, both rounded to bf16.
static inline void split_to_bf16(Vec x, uint16_t* high, uint16_t* low) {
  store_bf16(high, x);
  store_bf16(low, x - load_bf16(high));
}

/// Which element of a row stands at t after unpacklo/unpackhi of 16-bit elements, 32 at a time.
static inline int unpacked_element(int t) {
  const int half = t / 16 % 2, column = t % 16;
  return t / 32 * 32 + column / 4 * 8 + half * 4 + column % 4;
}

/// Rows that will be read soon, and how many bytes of each.
struct RowsAhead {
  const std::byte* const* rows;
  int bytes;
};

#if defined(__AVX512BF16__)
/// Elements [at, at + 32) of a stored row as bf16; blocks are expanded on the way.
template <DType T>
static inline __m512i load_32_bf16(const std::byte* row, int at) {
  if constexpr (T == DType::BF16) {
    return _mm512_loadu_si512(row + 2 * at);
  } else if constexpr (T == DType::Q8_0) {
    const std::byte* block = row + at / 32 * 34;
    const Vec scale = splat(f16_scalar(block));
    const Vec low = load_i8(block + 2) * scale, high = load_i8(block + 18) * scale;
    return (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
  } else {
    static_assert(T == DType::Q4_0);
    // The 16 numbers that the block can hold are rounded once, and looked up by its half bytes: of
    // an index, bit 4 is of no matter, as the table holds them twice.
    const std::byte* block = row + at / 32 * 18;
    const Vec steps = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
    const __m512 numbers = (__m512)(steps * splat(f16_scalar(block)));
    const __m512i table = (__m512i)_mm512_cvtne2ps_pbh(numbers, numbers);
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 2));
    const __m256i low = _mm256_cvtepu8_epi16(packed), high = _mm256_srli_epi16(low, 4);
    const __m512i index = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    return _mm512_permutexvar_epi16(index, table);
  }
}
#endif

/// Whether products of bf16 read rows of the type. Block types carry errors larger than bf16's; f16
/// does not, and f32 is to be exact.
static inline bool in_bf16(DType type) {
  return type == DType::BF16 || type == DType::Q8_0 || type == DType::Q4_0;
}

}  // namespace longhaul::LH_ISA
