#pragma once
// The AVX-512 version of small_blocks.h, with the interface of weight_blocks_avx512.h. A weight is
// d * u + m. scales() returns the 16 factors d and constants m of a block, one for each 16 weights.
// quarter(p, j) returns u of weights 64 * j to 64 * j + 63 as unsigned bytes. The product d * u is
// exact in f32. NVFP4 has no version here and is unpacked by plain loops.

#ifdef __AVX512BW__
#include <immintrin.h>

#include "ops/matmul/small_blocks.h"

namespace longhaul::LH_ISA {
namespace {

/// Shifts the lower half of the register right by `low` bits and the upper half by `high` bits. The
/// shift is within words of 64 bits, so bits move from one byte to another.
inline __m512i shift_halves(__m512i v, int low, int high) {
  return _mm512_srlv_epi64(v, _mm512_set_epi64(high, high, high, high, low, low, low, low));
}

inline __m512i two_copies(const uint8_t* p) {
  return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

inline uint64_t load_u64(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline __m512 floats_of(__m128i unsigned_bytes) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(unsigned_bytes));
}
/// Returns each of 8 numbers twice in a row, as f32.
inline __m512 each_twice(__m256i numbers) {
  const __m512i lanes = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  return _mm512_cvtepi32_ps(_mm512_permutexvar_epi32(lanes, _mm512_castsi256_si512(numbers)));
}
/// Returns the 16 nibbles of 8 bytes in order. The low nibble of a byte comes first.
inline __m128i sixteen_nibbles(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i both = _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4));
  return _mm_and_si128(both, _mm_set1_epi8(15));
}
inline __m512 times(float factor, __m512 x) { return _mm512_mul_ps(_mm512_set1_ps(factor), x); }
/// Returns (1/2 + s) / 4 for each lane s.
inline __m512 half_and(__m512 s) {
  return _mm512_mul_ps(_mm512_add_ps(s, _mm512_set1_ps(0.5f)), _mm512_set1_ps(0.25f));
}
/// Returns 2 * s + 1 for each lane s.
inline __m512 odd_of(__m512 s) { return _mm512_add_ps(_mm512_add_ps(s, s), _mm512_set1_ps(1.0f)); }

inline __m512i two_bits(const uint8_t* qs, int j) {
  const int shift = 4 * (j % 2);
  const __m512i v = shift_halves(two_copies(qs + 32 * (j / 2)), shift, shift + 2);
  return _mm512_and_si512(v, _mm512_set1_epi8(3));
}

/// Base of types in which each 16 elements share a factor d and have no minimum. The constant m of
/// these 16 elements is d * -kOffset. `Registers` is the derived class.
template <class Type, class Registers>
struct WithOffset : Type {
  static void scales(const uint8_t* p, int, __m512& d, __m512& m) {
    d = Registers::factors(p);
    m = _mm512_mul_ps(d, _mm512_set1_ps(-Type::kOffset));
  }
};

template <class Type>
struct SmallRegisters;

template <>
struct SmallRegisters<Q2_K> : Q2_K {
  static void scales(const uint8_t* p, int, __m512& d, __m512& m) {
    const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i low = _mm_set1_epi8(15);
    d = times(load_f16(p + 80), floats_of(_mm_and_si128(both, low)));
    m = times(-load_f16(p + 82), floats_of(_mm_and_si128(_mm_srli_epi16(both, 4), low)));
  }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) {
    return two_bits(p + 16, j);
  }
};

template <>
struct SmallRegisters<TQ2_0> : WithOffset<TQ2_0, SmallRegisters<TQ2_0>> {
  static __m512 factors(const uint8_t* p) { return _mm512_set1_ps(load_f16(p + 64)); }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) { return two_bits(p, j); }
};

template <>
struct SmallRegisters<TQ1_0> : WithOffset<TQ1_0, SmallRegisters<TQ1_0>> {
  static __m512 factors(const uint8_t* p) { return _mm512_set1_ps(load_f16(p + 52)); }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) {
    const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 32));
    if (j == 0) return digits(two_copies(p), powers(1, 1, 3, 3));
    if (j == 1) return digits(two_copies(p), powers(9, 9, 27, 27));
    if (j == 2) {
      const __m512i bytes = _mm512_inserti64x4(two_copies(p), _mm256_broadcastsi128_si256(last), 1);
      return digits(bytes, powers(81, 81, 1, 3));
    }
    const __m128i four = _mm_set1_epi32(static_cast<int>(load_u32(p + 48)));
    const __m512i bytes = _mm512_inserti32x4(_mm512_broadcast_i32x4(last), four, 3);
    const __m512i by_number =
        _mm512_mask_mov_epi32(powers(9, 27, 81, 0), 0xf000,
                              _mm512_broadcast_i32x4(_mm_setr_epi16(1, 1, 3, 3, 9, 9, 27, 27)));
    return digits(bytes, by_number);
  }

 private:
  /// Returns 16-bit powers of 3, one power for each 16 bytes.
  static __m512i powers(int16_t a, int16_t b, int16_t c, int16_t d) {
    const __m256i low = _mm256_setr_m128i(_mm_set1_epi16(a), _mm_set1_epi16(b));
    const __m256i high = _mm256_setr_m128i(_mm_set1_epi16(c), _mm_set1_epi16(d));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  /// Multiplies each byte by its power of 3 and returns the leading base-3 digit of the result. The
  /// digit of a byte x is 3 * x / 256, rounded down: 1 from x = 86 on, and 2 from x = 171 on.
  static __m512i digits(__m512i bytes, __m512i powers) {
    const __m512i low = _mm512_set1_epi16(255);
    const __m512i even = _mm512_and_si512(_mm512_mullo_epi16(bytes, powers), low);
    const __m512i odd = _mm512_mullo_epi16(_mm512_andnot_si512(low, bytes), powers);
    const __m512i x = _mm512_or_si512(even, odd), one = _mm512_set1_epi8(1);
    const __mmask64 first = _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8(86));
    const __mmask64 second = _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8(static_cast<char>(171)));
    const __m512i u = _mm512_maskz_mov_epi8(first, one);
    return _mm512_mask_add_epi8(u, second, u, one);
  }
};

/// Applies a sign bit to each of 64 magnitudes, and adds an offset of 128.
inline __m512i with_signs(__m512i magnitudes, uint64_t signs) {
  const __m512i v = _mm512_mask_sub_epi8(magnitudes, signs, _mm512_setzero_si512(), magnitudes);
  return _mm512_xor_si512(v, _mm512_set1_epi8(-128));
}

/// Extends each byte, which has 7 signs, to 8 signs, as eight_signs() does.
inline uint64_t eight_signs_of_each(uint64_t sevens) {
  uint64_t odd = sevens ^ (sevens >> 4 & 0x0f0f0f0f0f0f0f0fu);
  odd ^= odd >> 2 & 0x3f3f3f3f3f3f3f3fu;
  odd ^= odd >> 1 & 0x7f7f7f7f7f7f7f7fu;
  return sevens | (odd & 0x0101010101010101u) << 7;
}
/// Spreads four groups of 7 bits over four bytes.
inline uint32_t four_sevens(uint32_t bits) {
  const uint32_t two = (bits & 0x3fffu) | (bits << 2 & 0x3fff0000u);
  return (two & 0x007f007fu) | (two << 1 & 0x7f007f00u);
}
inline uint64_t signs_of_two_words(uint32_t first, uint32_t second) {
  return eight_signs_of_each(four_sevens(first) | uint64_t{four_sevens(second)} << 32);
}

/// Loads eight code-book entries of eight elements one by one, because a gather is slower. This
/// function and `index` must be inlined, because a call would spill all registers.
template <class IndexOf>
[[gnu::always_inline]] inline __m512i eight_entries(const uint64_t* book, IndexOf&& index) {
  const auto entry = [&](int i) __attribute__((always_inline)) {
    return static_cast<int64_t>(book[index(i)]);
  };
  return _mm512_set_epi64(entry(7), entry(6), entry(5), entry(4), entry(3), entry(2), entry(1),
                          entry(0));
}
/// Loads sixteen code-book entries of four elements.
template <class IndexOf>
[[gnu::always_inline]] inline __m512i sixteen_entries(const uint32_t* book, IndexOf&& index) {
  const auto pair = [&](int i) __attribute__((always_inline)) {
    return static_cast<int64_t>(book[index(2 * i)] | uint64_t{book[index(2 * i + 1)]} << 32);
  };
  return _mm512_set_epi64(pair(7), pair(6), pair(5), pair(4), pair(3), pair(2), pair(1), pair(0));
}

template <>
struct SmallRegisters<IQ2_XXS> : WithOffset<IQ2_XXS, SmallRegisters<IQ2_XXS>> {
  static __m512 factors(const uint8_t* p) {
    const __m256i scales = _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_loadu_si512(p + 2), 60));
    return times(load_f16(p), half_and(each_twice(scales)));
  }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) {
    const uint8_t* block = p + 2 + 16 * j;
    const __m512i u = eight_entries(
        kGridIQ2_XXS.entry, [&](int i) __attribute__((always_inline)) {
          return block[i / 4 * 8 + i % 4];
        });
    return with_signs(u, signs_of_two_words(load_u32(block + 4), load_u32(block + 12)));
  }
};

template <>
struct SmallRegisters<IQ2_XS> : WithOffset<IQ2_XS, SmallRegisters<IQ2_XS>> {
  static __m512 factors(const uint8_t* p) {
    return times(load_f16(p), half_and(floats_of(sixteen_nibbles(p + 66))));
  }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) {
    const uint8_t* q = p + 2 + 16 * j;
    const __m512i u = eight_entries(
        kGridIQ2_XS.entry, [&](int i) __attribute__((always_inline)) {
          return load_u16(q + 2 * i) & 511;
        });
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(q));
    const __m128i sevens = _mm_packus_epi16(_mm_srli_epi16(words, 9), _mm_setzero_si128());
    return with_signs(u, eight_signs_of_each(static_cast<uint64_t>(_mm_cvtsi128_si64(sevens))));
  }
};

template <>
struct SmallRegisters<IQ2_S> : WithOffset<IQ2_S, SmallRegisters<IQ2_S>> {
  static __m512 factors(const uint8_t* p) {
    return times(load_f16(p), half_and(floats_of(sixteen_nibbles(p + 74))));
  }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) {
    const uint32_t high = load_u16(p + 66 + 2 * j);
    const __m512i u = eight_entries(
        kGridIQ2_S.entry, [&](int i) __attribute__((always_inline)) {
          return p[2 + 8 * j + i] | (high >> (2 * i) & 3u) << 8;
        });
    return with_signs(u, load_u64(p + 34 + 8 * j));
  }
};

template <>
struct SmallRegisters<IQ3_XXS> : WithOffset<IQ3_XXS, SmallRegisters<IQ3_XXS>> {
  static __m512 factors(const uint8_t* p) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 66));
    const __m512 scales = each_twice(_mm256_srli_epi32(words, 28));
    return times(load_f16(p), _mm512_add_ps(half_and(scales), half_and(scales)));
  }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) {
    const __m512i u = sixteen_entries(
        kGridIQ3_XXS.entry, [&](int i)
                                __attribute__((always_inline)) { return p[2 + 16 * j + i]; });
    const uint8_t* words = p + 66 + 8 * j;
    return with_signs(u, signs_of_two_words(load_u32(words), load_u32(words + 4)));
  }
};

template <>
struct SmallRegisters<IQ3_S> : WithOffset<IQ3_S, SmallRegisters<IQ3_S>> {
  static __m512 factors(const uint8_t* p) {
    const __m128i bytes = _mm_cvtsi32_si128(static_cast<int>(load_u32(p + 106)));
    const __m128i both = _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4));
    const __m256i eight = _mm256_cvtepu8_epi32(_mm_and_si128(both, _mm_set1_epi8(15)));
    return times(load_f16(p), odd_of(each_twice(eight)));
  }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) {
    const uint32_t high = load_u16(p + 66 + 2 * j);
    const __m512i u = sixteen_entries(
        kGridIQ3_S.entry, [&](int i) __attribute__((always_inline)) {
          return p[2 + 16 * j + i] | (high >> i & 1u) << 8;
        });
    return with_signs(u, load_u64(p + 74 + 8 * j));
  }
};

/// Computes moved_entry() for eight entries. Bit i of `down` is set if element i is shifted down.
inline __m512i moved_entries(__m512i entries, uint64_t down) {
  const __m512i one = _mm512_set1_epi8(1);
  return _mm512_mask_sub_epi8(_mm512_add_epi8(entries, one), down, entries, one);
}

template <>
struct SmallRegisters<IQ1_S> : WithOffset<IQ1_S, SmallRegisters<IQ1_S>> {
  static __m512 factors(const uint8_t* p) {
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 34));
    const __m128i scales = _mm_and_si128(_mm_srli_epi16(words, 12), _mm_set1_epi16(7));
    return times(load_f16(p) * 0.125f, odd_of(each_twice(_mm256_cvtepu16_epi32(scales))));
  }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) {
    const uint32_t first = load_u16(p + 34 + 4 * j), second = load_u16(p + 36 + 4 * j);
    const __m512i entries = eight_entries(
        kGridIQ1_S.entry, [&](int i) __attribute__((always_inline)) {
          return p[2 + 8 * j + i] | ((i < 4 ? first : second) >> (3 * (i % 4)) & 7u) << 8;
        });
    const uint64_t low = first >> 15 != 0 ? 0xffffffffu : 0;
    const uint64_t high = second >> 15 != 0 ? 0xffffffff00000000u : 0;
    return moved_entries(entries, low | high);
  }
};

template <>
struct SmallRegisters<IQ1_M> : WithOffset<IQ1_M, SmallRegisters<IQ1_M>> {
  static __m512 factors(const uint8_t* p) {
    const uint64_t words = load_u64(p + 48);
    uint8_t half[2] = {static_cast<uint8_t>((words >> 12 & 15) | (words >> 28 & 15) << 4),
                       static_cast<uint8_t>((words >> 44 & 15) | (words >> 60 & 15) << 4)};
    // Lane i gets three bits of word i / 4, beginning with bit 3 * (i % 4).
    const __m512i word = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
        _mm512_castsi128_si512(_mm_cvtepu16_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(words)))));
    const __m512i scales = _mm512_and_si512(
        _mm512_srlv_epi32(word, _mm512_setr_epi32(0, 3, 6, 9, 0, 3, 6, 9, 0, 3, 6, 9, 0, 3, 6, 9)),
        _mm512_set1_epi32(7));
    return times(load_f16(half) * 0.125f, odd_of(_mm512_cvtepi32_ps(scales)));
  }
  [[gnu::always_inline]] static __m512i quarter(const uint8_t* p, int j) {
    const uint32_t high = load_u32(p + 32 + 4 * j);
    const __m512i entries = eight_entries(
        kGridIQ1_S.entry, [&](int i) __attribute__((always_inline)) {
          return p[8 * j + i] | (high >> (4 * i) & 7u) << 8;
        });
    const __m512i bit =
        _mm512_sllv_epi64(_mm512_set1_epi64(8), _mm512_setr_epi64(0, 4, 8, 12, 16, 20, 24, 28));
    const __mmask8 down = _mm512_test_epi64_mask(_mm512_set1_epi64(high), bit);
    return moved_entries(entries,
                         static_cast<uint64_t>(_mm512_movepi8_mask(_mm512_movm_epi64(down))));
  }
};

}  // namespace
}  // namespace longhaul::LH_ISA
#endif
