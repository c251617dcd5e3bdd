#pragma once
// Unpacks 16 weights of a quantized block at a time, in device code.

#include "ops/core/gpu/numbers.h"
#include "ops/matmul/block_layout.h"

namespace longhaul::cuda {

struct Weights16 {
  uint32_t q[4];
  float step, offset = -0.0f;  // offset is added to each weight; -0.0f changes no number, not even
                               // -0
};

/// The planes of a matrix (block_layout.h), and the code book of its type (code_books.h) or null.
struct Planes {
  const uint8_t* at[kMostPlanes];
  const uint32_t* book;
};

/// Default constants of a block type. kZero is subtracted from the quants, the stored integers
/// (block_units.h). kOffset is true if blocks of the type have an offset. kBook is the number of
/// entries of its code book, or 0 if it has none (code_books.h).
struct BlockForm {
  static constexpr int kZero = 0, kBook = 0;
  static constexpr bool kOffset = false;
};

template <class... Units>
struct UnitsList {};

/// Calls f(Units{}) for the entry of the list whose kType is `type`. Returns false if there is
/// none.
template <class... Units, class F>
bool with_one_of(UnitsList<Units...>, DType type, F&& f) {
  return ((type == Units::kType && (f(Units{}), true)) || ...);
}

/// The place of a group of 16 elements in its block: group `k` of unit `u` (block_units.h).
struct GroupPlace {
  int u, k;
};

namespace unit {

LH_EVERYWHERE const Word4* words4(const uint8_t* p) { return reinterpret_cast<const Word4*>(p); }
LH_EVERYWHERE const Word2* words2(const uint8_t* p) { return reinterpret_cast<const Word2*>(p); }
LH_EVERYWHERE const uint32_t* words(const uint8_t* p) {
  return reinterpret_cast<const uint32_t*>(p);
}
LH_EVERYWHERE const uint16_t* halves(const uint8_t* p) {
  return reinterpret_cast<const uint16_t*>(p);
}

/// Writes the low (if k = 0) or the high (if k = 1) nibbles of 16 bytes to q, one per byte.
LH_EVERYWHERE void take_nibbles(const Word4& packed, int k, uint32_t* q) {
  for (int i = 0; i < 4; ++i) q[i] = packed.w[i] >> (4 * k) & 0x0f0f0f0fu;
}

/// Writes bit pair k (0 to 3) of each of 16 bytes to q, one per byte.
LH_EVERYWHERE void take_pairs(const Word4& packed, int k, uint32_t* q) {
  for (int i = 0; i < 4; ++i) q[i] = packed.w[i] >> (2 * k) & 0x03030303u;
}

/// Returns base-3 digit n (0 to 4) of each of four bytes. The digits of a byte b are the digits
/// after the point of the fraction b / 256 in base 3.
LH_EVERYWHERE uint32_t base3_digits(uint32_t bytes, int n) {
  const uint32_t power = ((n & 1) != 0 ? 3u : 1u) * ((n & 2) != 0 ? 9u : 1u) * (n > 3 ? 81u : 1u);
  const uint32_t even = (bytes & 0x00ff00ffu) * power & 0x00ff00ffu;
  const uint32_t odd = (bytes >> 8 & 0x00ff00ffu) * power & 0x00ff00ffu;
  return (3 * even >> 8 & 0x00030003u) | (3 * odd & 0x03000300u);
}

/// Rotates each word so that bit `bit` of each byte becomes bit `to`, and ORs the bits in `mask`
/// into q.
LH_EVERYWHERE void add_bits(const Word4& high, int bit, int to, uint32_t mask, uint32_t* q) {
  for (int i = 0; i < 4; ++i) q[i] |= rotated_left(high.w[i], (to - bit) & 31) & mask;
}

/// ORs bits 0 to 15 of `bits` into bit 4 of 16 bytes, one bit per byte. A multiplication spreads
/// four bits over the bytes of a word.
LH_EVERYWHERE void add_fifth_bits(uint32_t bits, uint32_t* q) {
  for (int i = 0; i < 4; ++i) {
    q[i] |= ((bits >> (4 * i) & 15u) * 0x00204081u & 0x01010101u) << 4;
  }
}

/// The levels (the numbers that nibbles 0 to 15 represent), as signed bytes, four per word.
struct Levels {
  uint32_t of[4];
};
/// The levels of IQ4_NL and IQ4_XS.
LH_EVERYWHERE Levels iq4_levels() { return {{0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u}}; }
/// The levels of the 4-bit floats (E2M1) of MXFP4 and NVFP4. They are twice the numbers that the
/// floats represent: 0 to 12, then their negatives.
LH_EVERYWHERE Levels fp4_levels() { return {{0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu}}; }

/// Returns the levels of the low (k = 0) or high (k = 1) nibbles of four bytes. The low three bits
/// of a nibble select a byte from the lower and a byte from the upper half of the table. The
/// highest bit of the nibble then selects one of these two bytes. Each step does this for the four
/// nibbles of two bytes.
LH_EVERYWHERE uint32_t levels_of_word(const Levels& levels, uint32_t packed, int k) {
  const uint32_t in_half = packed & 0x77777777u;
  const uint32_t which = (packed & 0x88888888u) >> 1 | 0x32103210u;
  uint32_t pairs[2];
  for (int j = 0; j < 2; ++j) {
    const uint32_t low = pick_bytes(levels.of[0], levels.of[1], in_half >> (16 * j));
    const uint32_t high = pick_bytes(levels.of[2], levels.of[3], in_half >> (16 * j));
    pairs[j] = pick_bytes(low, high, which >> (16 * j));
  }
  return pick_bytes(pairs[0], pairs[1], k == 0 ? 0x6420u : 0x7531u);
}

LH_EVERYWHERE void take_levels(const Levels& levels, const Word4& packed, int k, uint32_t* q) {
  for (int i = 0; i < 4; ++i) q[i] = levels_of_word(levels, packed.w[i], k);
}

/// Returns half of an NVFP4 scale, which is an unsigned E4M3. It is halved because the levels are
/// twice the numbers that they stand for.
LH_EVERYWHERE float half_of_e4m3(uint32_t x) {
  if (x == 0x7f) return 0.0f;
  const uint32_t exponent = x >> 3 & 15u;
  const auto mantissa = static_cast<float>(x & 7u);
  if (exponent == 0) return mantissa * 0x1p-10f;
  return (1.0f + mantissa / 8.0f) * float_of((exponent + 119u) << 23);
}

/// Factors (in bits 0 to 7 and 8 to 15) and minima of sub-blocks 2 * pair and 2 * pair + 1 of a
/// block of Q4_K or Q5_K.
struct PairScales {
  uint32_t factors, minima;
};
LH_EVERYWHERE PairScales pair_scales(const Word4& head, int pair) {
  const uint32_t a = head.w[1], b = head.w[2], c = head.w[3];
  const int shift = 16 * (pair & 1);
  if (pair < 2) return {a >> shift & 0x3f3fu, b >> shift & 0x3f3fu};
  return {(c >> shift & 0x0f0fu) | (a >> shift >> 2 & 0x3030u),
          (c >> shift >> 4 & 0x0f0fu) | (b >> shift >> 2 & 0x3030u)};
}

/// Sets step and offset from a word that holds two f16: d in its low 16 bits, and the offset in its
/// high 16 bits.
LH_EVERYWHERE void step_and_offset(uint32_t head, Weights16& out) {
  out.step = half_value(head & 0xffffu);
  out.offset = half_value(head >> 16);
}

/// Sets step and offset of sub-block 2 * pair + k of Q4_K or Q5_K. `head` is the first 16 bytes of
/// the block. Its first word holds the f16 numbers d and dmin.
LH_EVERYWHERE void scale_with_minimum(const Word4& head, int pair, int k, Weights16& out) {
  const PairScales s = pair_scales(head, pair);
  out.step = half_value(head.w[0] & 0xffffu) * static_cast<float>(s.factors >> (8 * k) & 255u);
  out.offset = -(half_value(head.w[0] >> 16) * static_cast<float>(s.minima >> (8 * k) & 255u));
}

}  // namespace unit

}  // namespace longhaul::cuda
