#pragma once
// Block types whose weights are entries of a code book (block_units.h, code_books.h).

#include "ops/matmul/block_bits.h"

namespace longhaul::cuda {

namespace unit {

/// Moves bit i of `bits` to bit 0 of nibble i, for i from 0 to 7. The higher bits of `bits` must be
/// zero.
LH_EVERYWHERE uint32_t spread_to_halves(uint32_t bits) {
  bits = (bits | bits << 12) & 0x000f000fu;
  bits = (bits | bits << 6) & 0x03030303u;
  return (bits | bits << 3) & 0x11111111u;
}

/// Adds the eighth sign to seven signs, each of which is in a nibble. The eighth sign is such that
/// the number of negative signs is even. The highest nibble of the product is the sum of the seven
/// signs.
LH_EVERYWHERE uint32_t with_eighth_sign(uint32_t halves) {
  return halves | (halves * 0x11111111u & 0x10000000u);
}

/// Looks up the level for each nibble of a code-book entry. The nibble 0, 1 or 2 selects byte 0, 1
/// or 2 of `first`. The nibble 4, 5 or 6 selects byte 0, 1 or 2 of `second`.
LH_EVERYWHERE void take_entry(uint32_t first, uint32_t second, uint32_t entry, uint32_t* q) {
  q[0] = pick_bytes(first, second, entry);
  q[1] = pick_bytes(first, second, entry >> 16);
}

/// Decodes a code-book entry of IQ2. The levels are 8, 25 and 43, and their negatives. `signs` has
/// one sign in each of eight nibbles.
LH_EVERYWHERE void take_signed_entry(uint32_t entry, uint32_t signs, uint32_t* q) {
  take_entry(0x002b1908u, 0x00d5e7f8u, entry + 4 * signs, q);
}
LH_EVERYWHERE void take_entry_of_seven_signs(uint32_t entry, uint32_t signs, uint32_t* q) {
  take_signed_entry(entry, with_eighth_sign(spread_to_halves(signs & 127u)), q);
}

/// Decodes a code-book entry of IQ1. Its numbers -1, 0 and 1 are shifted up or down by an eighth.
/// The results q are in units of an eighth.
LH_EVERYWHERE void take_moved_entry(uint32_t entry, bool down, uint32_t* q) {
  take_entry(0x000901f9u, 0x0007fff7u, entry | (down ? 0x44444444u : 0u), q);
}

/// Negates byte i (0 to 3) of `bytes` if bit i of `signs` is set. No byte may be 0.
LH_EVERYWHERE uint32_t with_signs(uint32_t bytes, uint32_t signs) {
  const uint32_t ones = (signs & 15u) * 0x00204081u & 0x01010101u;
  return (bytes ^ ones * 255u) + ones;
}

/// Decodes the signs of 8 weights from 7 bits. The eighth sign is such that the number of negative
/// signs is even.
LH_EVERYWHERE uint32_t eight_signs(uint32_t seven) {
  seven &= 127u;
  return seven | (count_ones(seven) & 1u) << 7;
}

}  // namespace unit

/// The base of types with a code book. Unit u has elements 64 * u to 64 * u + 63.
struct BookForm : BlockForm {
  static constexpr int kBlock = 256, kUnits = 4, kGroups = 4;
  LH_EVERYWHERE static int group(int u, int k) { return 4 * u + k; }
  LH_EVERYWHERE static GroupPlace place(int group) { return {group >> 2, group & 3}; }
};

struct UnitsIQ2_XXS : BookForm {
  static constexpr DType kType = DType::IQ2_XXS;
  static constexpr BlockField kFields[] = {{2, 64}, {0, 2}};
  static constexpr int kBook = 256;
  struct Unit {
    Word4 quants;  // for each 32 weights: four code-book indices of 8 bits, then four groups of 7
                   // signs and a scale
    uint32_t d;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 4 * block + u),
            load_shared(unit::halves(p.at[1]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k, const uint32_t* book) {
    Weights16 out;
    const uint32_t entries = x.quants.w[k & 2], signs = x.quants.w[k | 1];
    for (int j = 0, i = 2 * (k & 1); j < 2; ++j, ++i) {
      unit::take_entry_of_seven_signs(book[entries >> (8 * i) & 255u], signs >> (7 * i),
                                      out.q + 2 * j);
    }
    out.step = half_value(x.d) * (0.5f + static_cast<float>(signs >> 28)) * 0.25f;
    return out;
  }
};

struct UnitsIQ2_XS : BookForm {
  static constexpr DType kType = DType::IQ2_XS;
  static constexpr BlockField kFields[] = {{2, 64}, {66, 8}, {0, 2}};
  static constexpr int kBook = 512;
  struct Unit {
    Word4 quants;  // 16-bit words: a code-book index in 9 bits, then 7 signs
    uint32_t scales, d;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 4 * block + u),
            load_shared(unit::halves(p.at[1]) + 4 * block + u),
            load_shared(unit::halves(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k, const uint32_t* book) {
    Weights16 out;
    for (int j = 0; j < 2; ++j) {
      const uint32_t q = x.quants.w[k] >> (16 * j);
      unit::take_entry_of_seven_signs(book[q & 511u], q >> 9, out.q + 2 * j);
    }
    out.step = half_value(x.d) * (0.5f + static_cast<float>(x.scales >> (4 * k) & 15u)) * 0.25f;
    return out;
  }
};

struct UnitsIQ2_S : BookForm {
  static constexpr DType kType = DType::IQ2_S;
  static constexpr BlockField kFields[] = {{2, 32}, {34, 32}, {66, 16}, {0, 2}};
  static constexpr int kBook = 1024;
  struct Unit {
    Word2 quants, signs;
    uint32_t high, scales, d;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words2(p.at[0]) + 4 * block + u),
            load_once(unit::words2(p.at[1]) + 4 * block + u),
            load_shared(unit::halves(p.at[2]) + 8 * block + u),
            load_shared(unit::halves(p.at[2]) + 8 * block + 4 + u),
            load_shared(unit::halves(p.at[3]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k, const uint32_t* book) {
    Weights16 out;
    for (int j = 0; j < 2; ++j) {
      const int at = 16 * (k & 1) + 8 * j;
      const uint32_t high = x.high >> (4 * k + 2 * j) & 3u;
      unit::take_signed_entry(book[(x.quants.w[k >> 1] >> at & 255u) | high << 8],
                              unit::spread_to_halves(x.signs.w[k >> 1] >> at & 255u),
                              out.q + 2 * j);
    }
    out.step = half_value(x.d) * (0.5f + static_cast<float>(x.scales >> (4 * k) & 15u)) * 0.25f;
    return out;
  }
};

struct UnitsIQ3_XXS : BookForm {
  static constexpr DType kType = DType::IQ3_XXS;
  static constexpr BlockField kFields[] = {{2, 64}, {66, 32}, {0, 2}};
  static constexpr int kBook = 256;
  struct Unit {
    Word4 quants;
    Word2 signs;  // for each 32 weights: four groups of 7 signs, and a scale
    uint32_t d;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 4 * block + u),
            load_once(unit::words2(p.at[1]) + 4 * block + u),
            load_shared(unit::halves(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k, const uint32_t* book) {
    Weights16 out;
    const uint32_t of_32 = x.signs.w[k >> 1];
    for (int j = 0; j < 2; ++j) {
      const uint32_t signs = unit::eight_signs(of_32 >> (14 * (k & 1) + 7 * j));
      const uint32_t entries = x.quants.w[k] >> (16 * j);
      out.q[2 * j] = unit::with_signs(book[entries & 255u], signs);
      out.q[2 * j + 1] = unit::with_signs(book[entries >> 8 & 255u], signs >> 4);
    }
    out.step = half_value(x.d) * (0.5f + static_cast<float>(of_32 >> 28)) * 0.5f;
    return out;
  }
};

struct UnitsIQ3_S : BookForm {
  static constexpr DType kType = DType::IQ3_S;
  static constexpr BlockField kFields[] = {{2, 64}, {66, 40}, {106, 4}, {0, 2}};
  static constexpr int kBook = 512;
  struct Unit {
    Word4 quants;
    Word2 signs;
    uint32_t high, scales, d;
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words4(p.at[0]) + 4 * block + u),
            load_once(unit::words2(p.at[1]) + 5 * block + 1 + u),
            load_shared(unit::halves(p.at[1]) + 20 * block + u),
            load_shared(p.at[2] + 4 * block + u), load_shared(unit::halves(p.at[3]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k, const uint32_t* book) {
    Weights16 out;
    const uint32_t signs = x.signs.w[k >> 1] >> (16 * (k & 1));
    for (int i = 0; i < 4; ++i) {
      const uint32_t high = x.high >> (4 * k + i) & 1u;
      out.q[i] =
          unit::with_signs(book[(x.quants.w[k] >> (8 * i) & 255u) | high << 8], signs >> (4 * i));
    }
    out.step = half_value(x.d) * static_cast<float>(1 + 2 * (x.scales >> (4 * (k >> 1)) & 15u));
    return out;
  }
};

struct UnitsIQ1_S : BookForm {
  static constexpr DType kType = DType::IQ1_S;
  static constexpr BlockField kFields[] = {{2, 32}, {34, 16}, {0, 2}};
  static constexpr int kBook = 2048;
  struct Unit {
    Word2 quants;
    uint32_t high, d;  // high: for each 32 weights, the 3 high bits of four code-book indices, a
                       // scale, and the direction of the shift
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words2(p.at[0]) + 4 * block + u),
            load_once(unit::words(p.at[1]) + 4 * block + u),
            load_shared(unit::halves(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int, int k, const uint32_t* book) {
    Weights16 out;
    const uint32_t of_32 = x.high >> (16 * (k >> 1));
    for (int j = 0, i = 2 * (k & 1); j < 2; ++j, ++i) {
      const uint32_t high = of_32 >> (3 * i) & 7u;
      unit::take_moved_entry(book[(x.quants.w[k >> 1] >> (8 * i) & 255u) | high << 8],
                             (of_32 & 0x8000u) != 0, out.q + 2 * j);
    }
    out.step = half_value(x.d) * 0.125f * static_cast<float>(2 * (of_32 >> 12 & 7u) + 1);
    return out;
  }
};

struct UnitsIQ1_M : BookForm {
  static constexpr DType kType = DType::IQ1_M;
  static constexpr BlockField kFields[] = {{0, 32}, {32, 16}, {48, 8}};
  static constexpr int kBook = 2048;
  struct Unit {
    Word2 quants;
    uint32_t high;  // for each code-book index: its 3 high bits and the direction of the shift
    Word2 scales;   // four 16-bit words, each with four scales of 3 bits and, above them, 4 bits of
                    // d
  };
  LH_EVERYWHERE static Unit load(const Planes& p, int64_t block, int u) {
    return {load_once(unit::words2(p.at[0]) + 4 * block + u),
            load_once(unit::words(p.at[1]) + 4 * block + u),
            load_shared(unit::words2(p.at[2]) + block)};
  }
  LH_EVERYWHERE static Weights16 weights(const Unit& x, int u, int k, const uint32_t* book) {
    Weights16 out;
    for (int j = 0; j < 2; ++j) {
      const uint32_t high = x.high >> (8 * k + 4 * j) & 15u;
      const uint32_t low = x.quants.w[k >> 1] >> (16 * (k & 1) + 8 * j) & 255u;
      unit::take_moved_entry(book[low | (high & 7u) << 8], (high & 8u) != 0, out.q + 2 * j);
    }
    const uint32_t a = x.scales.w[0], b = x.scales.w[1];
    const uint32_t d =
        (a >> 12 & 15u) | (a >> 24 & 0xf0u) | (b >> 4 & 0xf00u) | (b >> 16 & 0xf000u);
    const uint32_t scale = ((u & 2) != 0 ? b : a) >> (16 * (u & 1) + 3 * k) & 7u;
    out.step = half_value(d) * 0.125f * static_cast<float>(2 * scale + 1);
    return out;
  }
};

using UnitsOfBooks = UnitsList<UnitsIQ1_S, UnitsIQ1_M, UnitsIQ2_XXS, UnitsIQ2_XS, UnitsIQ2_S,
                               UnitsIQ3_XXS, UnitsIQ3_S>;

}  // namespace longhaul::cuda
