#pragma once
// Bits of quantized blocks as device code takes them apart, 16 bytes at a time.

#include "ops/cuda/numbers.h"

namespace longhaul::cuda {

struct Weights16 {
  uint32_t q[4];
  float step, offset;
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

/// Low or high halves of 16 bytes.
LH_EVERYWHERE void take_nibbles(const Word4& packed, int k, uint32_t* q) {
  for (int i = 0; i < 4; ++i) q[i] = packed.w[i] >> (4 * k) & 0x0f0f0f0fu;
}

/// The bits of each byte from `bit` on that `mask` keeps once they stand at `to`.
LH_EVERYWHERE void add_bits(const Word4& high, int bit, int to, uint32_t mask, uint32_t* q) {
  for (int i = 0; i < 4; ++i) q[i] |= rotated_left(high.w[i], (to - bit) & 31) & mask;
}

/// Bits 0 to 15 of `bits` become bit 4 of 16 bytes: a multiplication spreads four over a word.
LH_EVERYWHERE void add_fifth_bits(uint32_t bits, uint32_t* q) {
  for (int i = 0; i < 4; ++i) {
    q[i] |= ((bits >> (4 * i) & 15u) * 0x00204081u & 0x01010101u) << 4;
  }
}

/// The levels of IQ4_NL and IQ4_XS of the low (k = 0) or high halves of 16 bytes. The halves are
/// the digits of selectors as they stand: four levels of two bytes at a time, then low or high
/// ones.
LH_EVERYWHERE void take_iq4_levels(const Word4& packed, int k, uint32_t* q) {
  constexpr uint32_t kLevels[4] = {0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u};
  for (int i = 0; i < 4; ++i) {
    const uint32_t in_half = packed.w[i] & 0x77777777u;
    const uint32_t which = (packed.w[i] & 0x88888888u) >> 1 | 0x32103210u;
    uint32_t pairs[2];
    for (int j = 0; j < 2; ++j) {
      const uint32_t low = pick_bytes(kLevels[0], kLevels[1], in_half >> (16 * j));
      const uint32_t high = pick_bytes(kLevels[2], kLevels[3], in_half >> (16 * j));
      pairs[j] = pick_bytes(low, high, which >> (16 * j));
    }
    q[i] = pick_bytes(pairs[0], pairs[1], k == 0 ? 0x6420u : 0x7531u);
  }
}

/// Factors (in bits 0-7 and 8-15) and minima of sub-blocks 2 pair and 2 pair + 1 of Q4_K and Q5_K.
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

/// d and dmin in the first word of the head.
LH_EVERYWHERE void scale_with_minimum(const Word4& head, int pair, int k, Weights16& out) {
  const PairScales s = pair_scales(head, pair);
  out.step = half_value(head.w[0] & 0xffffu) * static_cast<float>(s.factors >> (8 * k) & 255u);
  out.offset = -(half_value(head.w[0] >> 16) * static_cast<float>(s.minima >> (8 * k) & 255u));
}

}  // namespace unit

}  // namespace longhaul::cuda
