#pragma once
// Block types with 256 weights per block (block_units.h).

#include "ops/matmul/block_bits.h"

namespace longhaul::cuda {

struct UnitsIQ4_XS : BlockForm {
  static constexpr DType kType = DType::IQ4_XS;
  static constexpr BlockField kFields[] = {{8, 128}, {0, 8}};
  static constexpr int kBlock = 256, kUnits = 8, kGroups = 2;
  struct Unit {
    Word4 quants;
    Word2 head;  // f16 d, high bits of the scales, low bits of the scales
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
    return out;
  }
};

/// The base of Q4_K and Q5_K. Unit 2 * j + c (c is 0 or 1) has elements 16 * c to 16 * c + 15 of
/// two sub-blocks. The low nibbles belong to sub-block 2 * j, and the high nibbles to sub-block
/// 2 * j + 1.
struct HalvesOfPairs : BlockForm {
  static constexpr int kBlock = 256, kUnits = 8, kGroups = 2;
  static constexpr bool kOffset = true;
  LH_EVERYWHERE static int group(int u, int k) { return (u >> 1) * 4 + 2 * k + (u & 1); }
  LH_EVERYWHERE static GroupPlace place(int group) {
    return {(group >> 2) * 2 + (group & 1), group >> 1 & 1};
  }
};

struct UnitsQ4_K : HalvesOfPairs {
  static constexpr DType kType = DType::Q4_K;
  static constexpr BlockField kFields[] = {{16, 128}, {0, 16}};
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
  static constexpr DType kType = DType::Q5_K;
  static constexpr BlockField kFields[] = {{48, 128}, {16, 32}, {0, 16}};
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

/// In Q2_K, Q3_K, Q6_K and TQ2_0, a block has two halves of 128 elements. Each half is a matrix of
/// four rows and 32 columns. A byte holds a column: four pairs of bits, one for each row.
struct UnitsQ6_K : BlockForm {
  // Unit 4 * half + 2 * row + c (row and c are 0 or 1) has columns 16 * c to 16 * c + 15 of two
  // rows. The low nibbles belong to `row`, and the high nibbles to row + 2.
  static constexpr DType kType = DType::Q6_K;
  static constexpr BlockField kFields[] = {{0, 128}, {128, 64}, {192, 16}, {208, 2}};
  static constexpr int kBlock = 256, kUnits = 8, kGroups = 2, kZero = 32;
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
    return out;
  }
};

/// The base of Q2_K, Q3_K and TQ2_0. Unit 2 * half + c has columns 16 * c to 16 * c + 15 of the
/// four rows of the half.
struct RowsOfHalves : BlockForm {
  static constexpr int kBlock = 256, kUnits = 4, kGroups = 4;
  LH_EVERYWHERE static int group(int u, int k) { return (u >> 1) * 8 + 2 * k + (u & 1); }
  LH_EVERYWHERE static GroupPlace place(int group) {
    return {(group >> 3) * 2 + (group & 1), group >> 1 & 3};
  }
};

struct UnitsQ2_K : RowsOfHalves {
  static constexpr DType kType = DType::Q2_K;
  static constexpr BlockField kFields[] = {{16, 64}, {0, 16}, {80, 4}};
  static constexpr bool kOffset = true;
  struct Unit {
    Word4 quants;
    Word2 scales;  // low nibble: factor; high nibble: factor of the minimum
    uint32_t head;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 4 * block + u),
            load_shared(unit::words2(p.at[1]) + 2 * block + (u >> 1)),
            load_shared(unit::words(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k) {
    Weights16 out;
    unit::take_pairs(x.quants, k, out.q);
    const uint32_t scale = x.scales.w[k >> 1] >> (16 * (k & 1) + 8 * (u & 1)) & 255u;
    out.step = half_value(x.head & 0xffffu) * static_cast<float>(scale & 15u);
    out.offset = -(half_value(x.head >> 16) * static_cast<float>(scale >> 4));
    return out;
  }
};

struct UnitsQ3_K : RowsOfHalves {
  static constexpr DType kType = DType::Q3_K;
  static constexpr BlockField kFields[] = {{32, 64}, {0, 32}, {96, 12}, {108, 2}};
  static constexpr int kZero = 4;
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
    unit::take_pairs(x.low, k, out.q);
    unit::add_bits(x.high, row, 2, 0x04040404u, out.q);
    // Byte i % 8 holds the low bits of scale i, in the low nibble if i < 8 and else in the high
    // nibble. Byte 8 + i % 4 holds the high bits of scale i, in bit pair i / 4.
    const int i = group(u, k);
    const uint32_t low = x.scales[i >> 2 & 1] >> (8 * (i & 3) + 4 * half) & 15u;
    const uint32_t high = x.scales[2] >> (8 * (i & 3) + 2 * (i >> 2)) & 3u;
    out.step = half_value(x.d) * static_cast<float>(static_cast<int>(low | high << 4) - 32);
    return out;
  }
};

struct UnitsTQ2_0 : RowsOfHalves {
  static constexpr DType kType = DType::TQ2_0;
  static constexpr BlockField kFields[] = {{0, 64}, {64, 2}};
  static constexpr int kZero = 1;
  struct Unit {
    Word4 quants;
    uint32_t d;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 4 * block + u),
            load_shared(unit::halves(p.at[1]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k) {
    Weights16 out;
    unit::take_pairs(x.quants, k, out.q);
    out.step = half_value(x.d);
    return out;
  }
};

/// In TQ1_0, a byte holds several digits in base 3, one per element. Bytes 0 to 31 have five digits
/// each, and digit n of byte b is element 32 * n + b. Bytes 32 to 47 hold the elements from 160 on,
/// also in five digits. Bytes 48 to 51 hold the elements from 240 on, in four digits. Unit u (0 or
/// 1) has all digits of bytes 16 * u to 16 * u + 15. In addition, unit 0 has the first three digits
/// of bytes 32 to 47, and unit 1 has all other digits.
struct UnitsTQ1_0 : BlockForm {
  static constexpr DType kType = DType::TQ1_0;
  static constexpr BlockField kFields[] = {{0, 48}, {48, 4}, {52, 2}};
  static constexpr int kBlock = 256, kUnits = 2, kGroups = 8, kZero = 1;
  struct Unit {
    Word4 own, both;
    uint32_t last, d;
  };
  LH_EVERYWHERE static int group(int u, int k) { return k < 5 ? 2 * k + u : 5 + 3 * u + k; }
  LH_EVERYWHERE static GroupPlace place(int group) {
    if (group < 10) return {group & 1, group >> 1};
    return group < 13 ? GroupPlace{0, group - 5} : GroupPlace{1, group - 8};
  }
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 3 * block + u),
            load_shared(unit::words4(p.at[0]) + 3 * block + 2),
            load_shared(unit::words(p.at[1]) + block), load_shared(unit::halves(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k) {
    Weights16 out;
    const bool four = u == 1 && k == 7;
    const int digit = k < 5 ? k : k - 5 + 3 * u;
    for (int i = 0; i < 4; ++i) {
      const uint32_t bytes = four ? x.last : k < 5 ? x.own.w[i] : x.both.w[i];
      out.q[i] = unit::base3_digits(bytes, four ? i : digit);
    }
    out.step = half_value(x.d);
    return out;
  }
};

using Units256 = UnitsList<UnitsQ2_K, UnitsQ3_K, UnitsQ4_K, UnitsQ5_K, UnitsQ6_K, UnitsIQ4_XS,
                           UnitsTQ1_0, UnitsTQ2_0>;

}  // namespace longhaul::cuda
