#pragma once
// Unpacks 256 weights to four columns of unsigned bytes, for block types other than the K types. A
// run is 16 consecutive weights, so 256 weights are 16 runs. Column k holds weights 4 * k to
// 4 * k + 3 of each run, in the order of the runs. A dot-product instruction multiplies a column by
// the same column of the activations (ActivationGroup::columns), byte by byte. For each run, it
// adds the four products to a 32-bit sum. After four columns, the 16 sums are the dot products of
// the runs, in the order of ActivationGroup::scale.
//
// Each specialisation of WeightColumns has:
//   kHasConstant            whether weight = d * u + constant; otherwise weight = d * (u - 128)
//   columns(p, u)           writes the four columns of the 256 weights at p to u
//   factors(p, d, constant) writes the factors d and the constants of the 16 runs
// weight_blocks.h and small_blocks.h describe the layouts of blocks.

#include <immintrin.h>

#include "ops/matmul/small_blocks_avx512.h"
#include "ops/matmul/weight_blocks_avx512.h"

namespace longhaul::LH_ISA {
namespace {

/// 16 numbers, one for each run of 16 weights.
struct RunNumbers {
  alignas(64) int32_t of[16];

  template <class OfRun>
  constexpr explicit RunNumbers(OfRun of_run) : of{} {
    for (int r = 0; r < 16; ++r) of[r] = of_run(r);
  }
  [[gnu::always_inline]] __m512i load() const { return _mm512_load_si512(of); }
};

inline __m512i plus(__m512i numbers, int k) {
  return k == 0 ? numbers : _mm512_add_epi32(numbers, _mm512_set1_epi32(k));
}

/// Returns bytes 4 * k to 4 * k + 3 of each of 16 pieces of 16 bytes. Lane r of `first` is the
/// index of the first 32-bit word of piece r. Indices below 16 refer to `a`, and indices from 16 on
/// refer to `b`.
[[gnu::always_inline]] inline __m512i column_of(__m512i a, __m512i b, __m512i first, int k) {
  return _mm512_permutex2var_epi32(a, plus(first, k), b);
}
[[gnu::always_inline]] inline __m512i keep_bits(__m512i v, int mask) {
  return _mm512_and_si512(v, _mm512_set1_epi8(static_cast<char>(mask)));
}

/// Loads 16 bytes from each of four blocks, which begin `step` bytes apart.
[[gnu::always_inline]] inline __m512i four_pieces(const uint8_t* p, int step) {
  const auto piece = [&](int b) __attribute__((always_inline)) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + b * step));
  };
  __m512i v = _mm512_castsi128_si512(piece(0));
  v = _mm512_inserti32x4(v, piece(1), 1);
  v = _mm512_inserti32x4(v, piece(2), 2);
  return _mm512_inserti32x4(v, piece(3), 3);
}

/// The index of the first 32-bit word of each run in eight blocks with 16 bytes of nibbles each.
/// The low nibbles of a block are its first run, and the high nibbles are its second run, so both
/// runs have the same index.
inline constexpr RunNumbers kPieceOfBlocks([](int r) { return r / 2 * 4; });

/// Columns of the nibbles n of eight blocks with 16 bytes of nibbles each. column() returns
/// n * 2^kRotation in each byte. For this, it rotates the 32-bit word of each run so that the run's
/// nibbles are at the bits of kMask, and clears all other bits. Runs in low nibbles are rotated
/// left by kRotation bits. Runs in high nibbles are rotated left by kRotation - 4 bits (right if
/// this is negative).
template <int kRotation, int kMask>
struct BlockHalves {
  __m512i a, b;
  __m512i first = kPieceOfBlocks.load();
  __m512i rotation = kRotations.load();

  [[gnu::always_inline]] __m512i column(int k) const {
    return keep_bits(_mm512_rolv_epi32(column_of(a, b, first, k), rotation), kMask);
  }

  static constexpr RunNumbers kRotations{[](int r) { return (kRotation - r % 2 * 4) & 31; }};
};

/// The factors of types with 32 weights per block. The columns hold the stored integers divided by
/// `unit`, so the factors are multiplied by `unit`.
template <class Type>
struct ColumnsOf32 : Registers32<Type> {
  static constexpr bool kHasConstant = Type::kHasMin;

  [[gnu::always_inline]] static void factors(const uint8_t* p, float unit, __m512& d,
                                             __m512& constant) {
    Registers32<Type>::scales(p, 8, d, constant);
    if (unit != 1.0f) d = _mm512_mul_ps(d, _mm512_set1_ps(unit));
  }
};

/// Converts four quarters of 64 weights, which are in the order of the row, to four columns.
[[gnu::always_inline]] inline void transpose_quarters(const __m512i q[4], __m512i u[4]) {
  // Indices that select two columns of eight runs.
  static constexpr RunNumbers kTwo{[](int i) { return i % 8 * 4 + i / 8; }};
  const __m512i two = kTwo.load();
  for (int k = 0; k < 4; k += 2) {
    const __m512i first = column_of(q[0], q[1], two, k), second = column_of(q[2], q[3], two, k);
    u[k] = _mm512_inserti64x4(first, _mm512_castsi512_si256(second), 1);
    u[k + 1] = _mm512_shuffle_i64x2(first, second, 0xee);
  }
}

/// Columns of a type for which SmallRegisters provides quarters in the order of the row.
template <class Type>
struct WeightColumns : SmallRegisters<Type> {
  static constexpr bool kHasConstant = true;
  [[gnu::always_inline]] static void columns(const uint8_t* p, __m512i u[4]) {
    __m512i q[4];
    for (int j = 0; j < 4; ++j) q[j] = SmallRegisters<Type>::quarter(p, j);
    transpose_quarters(q, u);
  }
  [[gnu::always_inline]] static void factors(const uint8_t* p, __m512& d, __m512& constant) {
    SmallRegisters<Type>::scales(p, 1, d, constant);
  }
};

template <>
struct WeightColumns<Q4_0> : ColumnsOf32<Q4_0> {
  [[gnu::always_inline]] static void columns(const uint8_t* p, __m512i u[4]) {
    const BlockHalves<4, 0xf0> halves{four_pieces(p + 2, 18), four_pieces(p + 74, 18)};
    for (int k = 0; k < 4; ++k) u[k] = halves.column(k);
  }
  [[gnu::always_inline]] static void factors(const uint8_t* p, __m512& d, __m512& constant) {
    ColumnsOf32::factors(p, 1.0f / 16, d, constant);
  }
};

/// Runs in high nibbles are not shifted. Their bytes are 16 times the stored integers, so their
/// factors are divided by 16.
template <>
struct WeightColumns<Q4_1> : ColumnsOf32<Q4_1> {
  [[gnu::always_inline]] static void columns(const uint8_t* p, __m512i u[4]) {
    static constexpr RunNumbers kHalf{
        [](int r) { return r % 2 == 0 ? 0x0f0f0f0f : static_cast<int32_t>(0xf0f0f0f0u); }};
    const __m512i a = four_pieces(p + 4, 20), b = four_pieces(p + 84, 20);
    for (int k = 0; k < 4; ++k) {
      u[k] = _mm512_and_si512(column_of(a, b, kPieceOfBlocks.load(), k), kHalf.load());
    }
  }
  [[gnu::always_inline]] static void factors(const uint8_t* p, __m512& d, __m512& constant) {
    scales(p, 8, d, constant);
    constexpr float kUnit = 1.0f / 16;
    d = _mm512_mul_ps(d, _mm512_broadcast_f32x4(_mm_setr_ps(1, kUnit, 1, kUnit)));
  }
};

/// The fifth bits of the weights in eight blocks. Each block stores its 32 fifth bits as one word.
struct FifthBits {
  __m512i words;  // for each run of weights: the word of its block

  template <class Type>
  [[gnu::always_inline]] static FifthBits at(const uint8_t* p) {
    const auto word = [&](int b) __attribute__((always_inline)) {
      return static_cast<int>(load_u32(p + b * Type::kBytes));
    };
    __m128i low = _mm_cvtsi32_si128(word(0)), high = _mm_cvtsi32_si128(word(4));
    low = _mm_insert_epi32(low, word(1), 1), high = _mm_insert_epi32(high, word(5), 1);
    low = _mm_insert_epi32(low, word(2), 2), high = _mm_insert_epi32(high, word(6), 2);
    low = _mm_insert_epi32(low, word(3), 3), high = _mm_insert_epi32(high, word(7), 3);
    constexpr auto block = [](int r) { return r / 2; };
    static constexpr RunNumbers kBlocks{block};
    return {_mm512_permutexvar_epi32(kBlocks.load(),
                                     _mm512_castsi256_si512(_mm256_setr_m128i(low, high)))};
  }

  /// Returns the fifth bits of column k, one per byte. For byte i of run r, this is bit
  /// 16 * (r % 2) + 4 * k + i of the word of the run's block.
  [[gnu::always_inline]] __mmask64 of_column(int k) const {
    const int first = k / 2, second = 2 + k / 2;  // index within the word of the byte that holds
                                                  // these bits, for the first and the second run of
                                                  // a block
    const __m128i lane = _mm_setr_epi8(
        static_cast<char>(first), static_cast<char>(first), static_cast<char>(first),
        static_cast<char>(first), static_cast<char>(4 + second), static_cast<char>(4 + second),
        static_cast<char>(4 + second), static_cast<char>(4 + second), static_cast<char>(8 + first),
        static_cast<char>(8 + first), static_cast<char>(8 + first), static_cast<char>(8 + first),
        static_cast<char>(12 + second), static_cast<char>(12 + second),
        static_cast<char>(12 + second), static_cast<char>(12 + second));
    const __m512i bytes = _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(lane));
    const int bits = k % 2 == 0 ? 0x08040201 : static_cast<int>(0x80402010u);
    return _mm512_test_epi8_mask(bytes, _mm512_set1_epi32(bits));
  }
};

template <>
struct WeightColumns<Q5_0> : ColumnsOf32<Q5_0> {
  [[gnu::always_inline]] static void columns(const uint8_t* p, __m512i u[4]) {
    const BlockHalves<3, 0x78> halves{four_pieces(p + 6, 22), four_pieces(p + 94, 22)};
    const FifthBits fifth = FifthBits::at<Q5_0>(p + 2);
    for (int k = 0; k < 4; ++k) {
      const __m512i low = halves.column(k);
      u[k] = _mm512_mask_add_epi8(low, fifth.of_column(k), low, _mm512_set1_epi8(-128));
    }
  }
  [[gnu::always_inline]] static void factors(const uint8_t* p, __m512& d, __m512& constant) {
    ColumnsOf32::factors(p, 1.0f / 8, d, constant);
  }
};

template <>
struct WeightColumns<Q5_1> : ColumnsOf32<Q5_1> {
  [[gnu::always_inline]] static void columns(const uint8_t* p, __m512i u[4]) {
    const BlockHalves<0, 0x0f> halves{four_pieces(p + 8, 24), four_pieces(p + 104, 24)};
    const FifthBits fifth = FifthBits::at<Q5_1>(p + 4);
    for (int k = 0; k < 4; ++k) {
      const __m512i low = halves.column(k);
      u[k] = _mm512_mask_add_epi8(low, fifth.of_column(k), low, _mm512_set1_epi8(16));
    }
  }
  [[gnu::always_inline]] static void factors(const uint8_t* p, __m512& d, __m512& constant) {
    ColumnsOf32::factors(p, 1.0f, d, constant);
  }
};

template <>
struct WeightColumns<Q8_0> : ColumnsOf32<Q8_0> {
  [[gnu::always_inline]] static void columns(const uint8_t* p, __m512i u[4]) {
    __m512i q[4];
    for (int j = 0; j < 4; ++j) q[j] = quarter(p, j);
    transpose_quarters(q, u);
  }
  [[gnu::always_inline]] static void factors(const uint8_t* p, __m512& d, __m512& constant) {
    ColumnsOf32::factors(p, 1.0f, d, constant);
  }
};

/// Looks up each nibble in the table `levels` and writes the columns to u. The table holds the
/// numbers that nibbles 0 to 15 represent, with 128 added.
[[gnu::always_inline]] inline void columns_of_levels(__m512i a, __m512i b, __m128i levels,
                                                     __m512i u[4]) {
  const BlockHalves<0, 0x0f> halves{a, b};
  for (int k = 0; k < 4; ++k) {
    u[k] = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(levels), halves.column(k));
  }
}

inline __m128i iq4_levels() {
  const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values));
  return _mm_xor_si128(values, _mm_set1_epi8(-128));
}

template <>
struct WeightColumns<IQ4_NL> : ColumnsOf32<IQ4_NL> {
  [[gnu::always_inline]] static void columns(const uint8_t* p, __m512i u[4]) {
    columns_of_levels(four_pieces(p + 2, 18), four_pieces(p + 74, 18), iq4_levels(), u);
  }
  [[gnu::always_inline]] static void factors(const uint8_t* p, __m512& d, __m512& constant) {
    ColumnsOf32::factors(p, 1.0f, d, constant);
  }
};

template <>
struct WeightColumns<MXFP4> : RegistersMXFP4 {
  static constexpr bool kHasConstant = false;
  [[gnu::always_inline]] static void columns(const uint8_t* p, __m512i u[4]) {
    const __m128i levels = _mm_add_epi8(fp4_levels(), _mm_set1_epi8(128 - kOffset));
    columns_of_levels(four_pieces(p + 1, 17), four_pieces(p + 69, 17), levels, u);
  }
  [[gnu::always_inline]] static void factors(const uint8_t* p, __m512& d, __m512& constant) {
    scales(p, 8, d, constant);
  }
};

template <>
struct WeightColumns<IQ4_XS> : RegistersIQ4_XS {
  static constexpr bool kHasConstant = false;
  [[gnu::always_inline]] static void columns(const uint8_t* p, __m512i u[4]) {
    columns_of_levels(_mm512_loadu_si512(p + 8), _mm512_loadu_si512(p + 72), iq4_levels(), u);
  }
  [[gnu::always_inline]] static void factors(const uint8_t* p, __m512& d, __m512& constant) {
    scales(p, 8, d, constant);
  }
};

}  // namespace
}  // namespace longhaul::LH_ISA
