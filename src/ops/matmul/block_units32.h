#pragma once
// Block types with 32 or 64 weights per block (block_units.h).

#include "ops/matmul/block_bits.h"

namespace longhaul::cuda {

/// The base of types with 32 weights in 16 bytes. The low nibbles are elements 0 to 15, and the
/// high nibbles are elements 16 to 31.
struct HalvesOf32 : BlockForm {
  static constexpr int kBlock = 32, kUnits = 1, kGroups = 2;
  LH_EVERYWHERE static int group(int, int k) { return k; }
  LH_EVERYWHERE static GroupPlace place(int group) { return {0, group}; }
};

struct UnitsQ4_0 : HalvesOf32 {
  static constexpr DType kType = DType::Q4_0;
  static constexpr BlockField kFields[] = {{2, 16}, {0, 2}};
  static constexpr int kZero = 8;
  struct Unit {
    Word4 quants;
    uint32_t d;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int) {
    return {load_once(unit::words4(p.at[0]) + block), load_shared(unit::halves(p.at[1]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k) {
    Weights16 out;
    unit::take_nibbles(x.quants, k, out.q);
    out.step = half_value(x.d);
    return out;
  }
};

struct UnitsQ4_1 : HalvesOf32 {
  static constexpr DType kType = DType::Q4_1;
  static constexpr BlockField kFields[] = {{4, 16}, {0, 4}};
  static constexpr bool kOffset = true;
  struct Unit {
    Word4 quants;
    uint32_t head;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int) {
    return {load_once(unit::words4(p.at[0]) + block), load_shared(unit::words(p.at[1]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k) {
    Weights16 out;
    unit::take_nibbles(x.quants, k, out.q);
    unit::step_and_offset(x.head, out);
    return out;
  }
};

struct UnitsQ5_0 : HalvesOf32 {
  static constexpr DType kType = DType::Q5_0;
  static constexpr BlockField kFields[] = {{6, 16}, {2, 4}, {0, 2}};
  static constexpr int kZero = 16;
  struct Unit {
    Word4 quants;
    uint32_t high, d;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int) {
    return {load_once(unit::words4(p.at[0]) + block), load_shared(unit::words(p.at[1]) + block),
            load_shared(unit::halves(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k) {
    Weights16 out;
    unit::take_nibbles(x.quants, k, out.q);
    unit::add_fifth_bits(x.high >> (16 * k), out.q);
    out.step = half_value(x.d);
    return out;
  }
};

struct UnitsQ5_1 : HalvesOf32 {
  static constexpr DType kType = DType::Q5_1;
  static constexpr BlockField kFields[] = {{8, 16}, {4, 4}, {0, 4}};
  static constexpr bool kOffset = true;
  struct Unit {
    Word4 quants;
    uint32_t high, head;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int) {
    return {load_once(unit::words4(p.at[0]) + block), load_shared(unit::words(p.at[1]) + block),
            load_shared(unit::words(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k) {
    Weights16 out;
    unit::take_nibbles(x.quants, k, out.q);
    unit::add_fifth_bits(x.high >> (16 * k), out.q);
    unit::step_and_offset(x.head, out);
    return out;
  }
};

struct UnitsQ8_0 : BlockForm {
  static constexpr DType kType = DType::Q8_0;
  static constexpr BlockField kFields[] = {{2, 32}, {0, 2}};
  static constexpr int kBlock = 32, kUnits = 2, kGroups = 1;
  struct Unit {
    Word4 quants;
    uint32_t d;
  };
  LH_EVERYWHERE static int group(int u, int) { return u; }
  LH_EVERYWHERE static GroupPlace place(int group) { return {group, 0}; }
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 2 * block + u),
            load_shared(unit::halves(p.at[1]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int) {
    Weights16 out;
    for (int i = 0; i < 4; ++i) out.q[i] = x.quants.w[i];
    out.step = half_value(x.d);
    return out;
  }
};

struct UnitsIQ4_NL : UnitsQ4_0 {
  static constexpr DType kType = DType::IQ4_NL;
  static constexpr int kZero = 0;
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k) {
    Weights16 out;
    unit::take_levels(unit::iq4_levels(), x.quants, k, out.q);
    out.step = half_value(x.d);
    return out;
  }
};

struct UnitsMXFP4 : HalvesOf32 {
  static constexpr DType kType = DType::MXFP4;
  static constexpr BlockField kFields[] = {{1, 16}, {0, 1}};
  struct Unit {
    Word4 quants;
    uint32_t exponent;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int) {
    return {load_once(unit::words4(p.at[0]) + block), load_shared(p.at[1] + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k) {
    Weights16 out;
    unit::take_levels(unit::fp4_levels(), x.quants, k, out.q);
    // The step is half of 2^(e - 127), because the levels are twice the numbers that they stand
    // for.
    out.step = float_of(x.exponent < 2 ? 0x00200000u << x.exponent : (x.exponent - 1) << 23);
    return out;
  }
};

/// Unit u has elements 32 * u to 32 * u + 31. Each 16 elements fill eight bytes: the first eight
/// elements are the low nibbles, and the others are the high nibbles.
struct UnitsNVFP4 : BlockForm {
  static constexpr DType kType = DType::NVFP4;
  static constexpr BlockField kFields[] = {{4, 32}, {0, 4}};
  static constexpr int kBlock = 64, kUnits = 2, kGroups = 2;
  struct Unit {
    Word4 quants;
    uint32_t factors;
  };
  LH_EVERYWHERE static int group(int u, int k) { return 2 * u + k; }
  LH_EVERYWHERE static GroupPlace place(int group) { return {group >> 1, group & 1}; }
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 2 * block + u),
            load_shared(unit::words(p.at[1]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k) {
    Weights16 out;
    for (int i = 0; i < 4; ++i) {
      out.q[i] = unit::levels_of_word(unit::fp4_levels(), x.quants.w[2 * k + i % 2], i / 2);
    }
    out.step = unit::half_of_e4m3(x.factors >> (8 * group(u, k)) & 255u);
    return out;
  }
};

using Units32 = UnitsList<UnitsQ4_0, UnitsQ4_1, UnitsQ5_0, UnitsQ5_1, UnitsQ8_0, UnitsIQ4_NL,
                          UnitsMXFP4, UnitsNVFP4>;

}  // namespace longhaul::cuda
