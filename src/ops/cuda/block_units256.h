#pragma once
// The quantized types with blocks of 256 weights (block_units.h).

#include "ops/cuda/block_bits.h"

namespace longhaul::cuda {

struct UnitsIQ4_XS {
  static constexpr int kBlock = 256, kUnits = 8, kGroups = 2, kZero = 0;
  static constexpr bool kOffset = false;
  struct Unit {
    Word4 quants;
    Word2 head;  // f16 d, high bits of the scales, their low bits
  };
  LH_EVERYWHERE static int group(int u, int k) { return 2 * u + k; }
  LH_EVERYWHERE static GroupPlace place(int group) { return {group >> 1, group & 1}; }
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 8 * block + u),
            load_shared(unit::words2(p.at[1]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k) {
    Weights16 out;
    unit::take_levels(unit::iq4_levels(), x.quants, k, out.q);
    const uint32_t low = x.head.w[1] >> (4 * u) & 15u;
    const uint32_t high = x.head.w[0] >> (16 + 2 * u) & 3u;
    const int scale = static_cast<int>(low | high << 4) - 32;
    out.step = half_value(x.head.w[0] & 0xffffu) * static_cast<float>(scale);
    out.offset = -0.0f;
    return out;
  }
};

/// Q4_K and Q5_K: unit 2 j + c has elements 16 c to 16 c + 15 of sub-blocks 2 j (low halves) and
/// 2 j + 1 (high).
struct HalvesOfPairs {
  static constexpr int kBlock = 256, kUnits = 8, kGroups = 2, kZero = 0;
  static constexpr bool kOffset = true;
  LH_EVERYWHERE static int group(int u, int k) { return (u >> 1) * 4 + 2 * k + (u & 1); }
  LH_EVERYWHERE static GroupPlace place(int group) {
    return {(group >> 2) * 2 + (group & 1), group >> 1 & 1};
  }
};

struct UnitsQ4_K : HalvesOfPairs {
  struct Unit {
    Word4 quants, head;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 8 * block + u),
            load_shared(unit::words4(p.at[1]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k) {
    Weights16 out;
    unit::take_nibbles(x.quants, k, out.q);
    unit::scale_with_minimum(x.head, u >> 1, k, out);
    return out;
  }
};

struct UnitsQ5_K : HalvesOfPairs {
  struct Unit {
    Word4 quants, high, head;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 8 * block + u),
            load_shared(unit::words4(p.at[1]) + 2 * block + (u & 1)),
            load_shared(unit::words4(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k) {
    Weights16 out;
    unit::take_nibbles(x.quants, k, out.q);
    unit::add_bits(x.high, (u >> 1) * 2 + k, 4, 0x10101010u, out.q);
    unit::scale_with_minimum(x.head, u >> 1, k, out);
    return out;
  }
};

/// Q2_K, Q3_K and Q6_K: 128 elements a half, rows of 32; bit pairs of one byte belong to four rows.
struct UnitsQ6_K {
  // Unit 4 half + 2 row + c, row 0 or 1: columns from 16 c of that row (low halves) and of row + 2.
  static constexpr int kBlock = 256, kUnits = 8, kGroups = 2, kZero = 32;
  static constexpr bool kOffset = false;
  struct Unit {
    Word4 low, high;
    int scale[2];
    uint32_t d;
  };
  LH_EVERYWHERE static int group(int u, int k) {
    return (u >> 2) * 8 + ((u >> 1 & 1) + 2 * k) * 2 + (u & 1);
  }
  LH_EVERYWHERE static GroupPlace place(int group) {
    return {(group >> 3) * 4 + (group & 3), group >> 2 & 1};
  }
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    const auto* scales = reinterpret_cast<const signed char*>(p.at[2]) + 16 * block;
    return {load_once(unit::words4(p.at[0]) + 8 * block + u),
            load_shared(unit::words4(p.at[1]) + 4 * block + (u >> 2) * 2 + (u & 1)),
            {load_shared(scales + group(u, 0)), load_shared(scales + group(u, 1))},
            load_shared(unit::halves(p.at[3]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k) {
    Weights16 out;
    unit::take_nibbles(x.low, k, out.q);
    const int shift = 2 * ((u >> 1 & 1) + 2 * k);
    unit::add_bits(x.high, shift, 4, 0x30303030u, out.q);
    out.step = half_value(x.d) * static_cast<float>(x.scale[k]);
    out.offset = -0.0f;
    return out;
  }
};

/// Q2_K and Q3_K: unit 2 half + c has columns from 16 c of the four rows of that half.
struct RowsOfHalves {
  static constexpr int kBlock = 256, kUnits = 4, kGroups = 4;
  LH_EVERYWHERE static int group(int u, int k) { return (u >> 1) * 8 + 2 * k + (u & 1); }
  LH_EVERYWHERE static GroupPlace place(int group) {
    return {(group >> 3) * 2 + (group & 1), group >> 1 & 3};
  }
};

struct UnitsQ2_K : RowsOfHalves {
  static constexpr int kZero = 0;
  static constexpr bool kOffset = true;
  struct Unit {
    Word4 quants;
    Word2 scales;  // of this half: a factor in the low half byte, that of the minimum in the high
    uint32_t head;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 4 * block + u),
            load_shared(unit::words2(p.at[1]) + 2 * block + (u >> 1)),
            load_shared(unit::words(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k) {
    Weights16 out;
    for (int i = 0; i < 4; ++i) out.q[i] = x.quants.w[i] >> (2 * k) & 0x03030303u;
    const uint32_t scale = x.scales.w[k >> 1] >> (16 * (k & 1) + 8 * (u & 1)) & 255u;
    out.step = half_value(x.head & 0xffffu) * static_cast<float>(scale & 15u);
    out.offset = -(half_value(x.head >> 16) * static_cast<float>(scale >> 4));
    return out;
  }
};

struct UnitsQ3_K : RowsOfHalves {
  static constexpr int kZero = 4;
  static constexpr bool kOffset = false;
  struct Unit {
    Word4 low, high;
    uint32_t scales[3], d;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    const uint32_t* scales = unit::words(p.at[2]) + 3 * block;
    return {load_once(unit::words4(p.at[0]) + 4 * block + u),
            load_shared(unit::words4(p.at[1]) + 2 * block + (u & 1)),
            {load_shared(scales), load_shared(scales + 1), load_shared(scales + 2)},
            load_shared(unit::halves(p.at[3]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k) {
    Weights16 out;
    const int half = u >> 1, row = 4 * half + k;
    for (int i = 0; i < 4; ++i) out.q[i] = x.low.w[i] >> (2 * k) & 0x03030303u;
    unit::add_bits(x.high, row, 2, 0x04040404u, out.q);
    // Scale i has its low bits in half i / 8 of byte i % 8, its high ones in pair i / 4 of byte
    // 8 + i % 4.
    const int i = group(u, k);
    const uint32_t low = x.scales[i >> 2 & 1] >> (8 * (i & 3) + 4 * half) & 15u;
    const uint32_t high = x.scales[2] >> (8 * (i & 3) + 2 * (i >> 2)) & 3u;
    out.step = half_value(x.d) * static_cast<float>(static_cast<int>(low | high << 4) - 32);
    out.offset = -0.0f;
    return out;
  }
};

}  // namespace longhaul::cuda
