#pragma once
// Block types that are unpacked element by element. Most of them have few bits per weight. The
// comment at each type lists the fields of its blocks in order. unpack() converts the elements of a
// block to unsigned bytes u. scales() returns a factor d, and in some types a minimum `min`, for
// each 16 elements. A weight is d * u - min if kHasMin is true, and otherwise d * (u - kOffset).
// The product of d and a byte is exact in f32. Conversion to f32 (Expanded) and dot products
// (Unpacked) can therefore use the same d and u. The layouts are those of ggml (ggml-common.h) and
// the gguf package (quants.py). Include this only in *.isa.cc files, which are compiled once per
// instruction set.

#include <cstdint>
#include <cstring>

#include "ops/core/isa/small_floats.h"
#include "ops/matmul/iq_grids.h"

namespace longhaul::LH_ISA {
namespace {

/// Unpacks 256 elements of 2 bits. Each 32 bytes hold 128 elements: bits 2 * r and 2 * r + 1 of
/// byte i are element 32 * r + i.
inline void unpack_2_bits(const uint8_t* qs, uint8_t* u) {
  for (int i = 0; i < 256; ++i) {
    u[i] = static_cast<uint8_t>(qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3);
  }
}

struct Q2_K {  // 16 bytes of scales and minima, 64 bytes of 2-bit quants, f16 d, f16 dmin
  static constexpr int kWeights = 256, kBytes = 84, kOffset = 0;
  static constexpr bool kHasMin = true;
  static void scales(const uint8_t* p, float* d, float* min) {
    const float factor = load_f16(p + 80), minimum = load_f16(p + 82);
    for (int i = 0; i < 16; ++i) {
      d[i] = factor * static_cast<float>(p[i] & 15);
      min[i] = minimum * static_cast<float>(p[i] >> 4);
    }
  }
  static void unpack(const uint8_t* p, uint8_t* u) { unpack_2_bits(p + 16, u); }
};

inline void same_scale(float factor, int runs, float* d) {
  for (int i = 0; i < runs; ++i) d[i] = factor;
}

struct TQ2_0 {  // 64 bytes of 2-bit quants, f16 d
  static constexpr int kWeights = 256, kBytes = 66, kOffset = 1;
  static constexpr bool kHasMin = false;
  static void scales(const uint8_t* p, float* d, float*) { same_scale(load_f16(p + 64), 16, d); }
  static void unpack(const uint8_t* p, uint8_t* u) { unpack_2_bits(p, u); }
};

struct TQ1_0 {  // 48 bytes with five base-3 digits each, 4 bytes with four digits each, f16 d
  static constexpr int kWeights = 256, kBytes = 54, kOffset = 1;
  static constexpr bool kHasMin = false;
  static void scales(const uint8_t* p, float* d, float*) { same_scale(load_f16(p + 52), 16, d); }
  static void unpack(const uint8_t* p, uint8_t* u) {
    u = digits<32>(p, 5, u);
    u = digits<16>(p + 32, 5, u);
    digits<4>(p + 48, 4, u);
  }

 private:
  /// Unpacks kBytesOfRun bytes with `count` elements each: first digit 0 of all bytes, then digit 1
  /// of all bytes, and so on. The digits of a byte b are the digits after the point of the fraction
  /// b / 256 in base 3. Returns the end of the output.
  template <int kBytesOfRun>
  static uint8_t* digits(const uint8_t* p, int count, uint8_t* u) {
    uint8_t power = 1;
    for (int n = 0; n < count; ++n, power = static_cast<uint8_t>(power * 3)) {
      for (int i = 0; i < kBytesOfRun; ++i) {
        const auto fraction = static_cast<uint8_t>(p[i] * power);
        *u++ = static_cast<uint8_t>(fraction * 3 >> 8);
      }
    }
    return u;
  }
};

/// The byte u for each 4-bit float (E2M1): twice the number that the float represents (its level),
/// plus 12 (kOffset).
inline constexpr uint8_t kFp4Levels[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                           12, 11, 10, 9,  8,  6,  4,  0};

inline void unpack_fp4(const uint8_t* qs, int bytes, uint8_t* u) {
  for (int i = 0; i < bytes; ++i) {
    u[i] = kFp4Levels[qs[i] & 15];
    u[i + bytes] = kFp4Levels[qs[i] >> 4];
  }
}

struct MXFP4 {  // 8-bit exponent e, 16 bytes of nibbles
  static constexpr int kWeights = 32, kBytes = 17, kOffset = 12;
  static constexpr bool kHasMin = false;
  /// Returns half of 2^(e - 127). It is halved because the levels are twice the numbers that they
  /// stand for.
  static float half_of_power(uint8_t e) {
    return float_from_bits(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
  }
  static void scales(const uint8_t* p, float* d, float*) { same_scale(half_of_power(*p), 2, d); }
  static void unpack(const uint8_t* p, uint8_t* u) { unpack_fp4(p + 1, 16, u); }
};

struct NVFP4 {  // 4 factors of 8 bits (unsigned E4M3), 32 bytes of nibbles
  static constexpr int kWeights = 64, kBytes = 36, kOffset = 12;
  static constexpr bool kHasMin = false;
  static float half_of_e4m3(uint8_t x) {
    if (x == 0 || x == 0x7f) return 0.0f;
    const uint32_t exponent = x >> 3 & 15u;
    const auto mantissa = static_cast<float>(x & 7);
    if (exponent == 0) return mantissa * 0x1p-10f;
    return (1.0f + mantissa / 8.0f) * float_from_bits((exponent - 8 + 127) << 23);
  }
  static void scales(const uint8_t* p, float* d, float*) {
    for (int i = 0; i < 4; ++i) d[i] = half_of_e4m3(p[i]);
  }
  static void unpack(const uint8_t* p, uint8_t* u) {
    for (int i = 0; i < 4; ++i) unpack_fp4(p + 4 + 8 * i, 8, u + 16 * i);
  }
};

/// Decodes a code-book entry. Its byte i is the magnitude of element i, and bit i of `signs` is set
/// if the element is negative. Writes the elements to u, with kOffset (128) added.
template <class Entry>
inline void signed_entry(Entry entry, uint32_t signs, uint8_t* u) {
  for (size_t i = 0; i < sizeof(Entry); ++i) {
    const int level = static_cast<int>(entry >> (8 * i) & 255);
    u[i] = static_cast<uint8_t>(128 + ((signs >> i & 1) != 0 ? -level : level));
  }
}

/// Decodes the signs of 8 elements from 7 bits. The eighth sign is such that the number of negative
/// signs is even.
inline uint32_t eight_signs(uint32_t seven) {
  seven &= 127;
  return seven | static_cast<uint32_t>(__builtin_parity(seven)) << 7;
}

inline int nibble_of(const uint8_t* p, int i) { return p[i / 2] >> (i % 2 * 4) & 15; }

/// The base of the IQ types with signs. The factor of each 16 or 32 elements is the block's f16 d
/// times an odd number (in some types divided by 4 or 8).
struct SignedIq {
  static constexpr int kWeights = 256, kOffset = 128;
  static constexpr bool kHasMin = false;
};

struct IQ2_XXS : SignedIq {  // f16 d; for each 32 weights, four code-book indices of 8 bits, four
                             // groups of 7 signs, a scale of 4 bits
  static constexpr int kBytes = 66;
  static void scales(const uint8_t* p, float* d, float*) {
    const float factor = load_f16(p);
    for (int b = 0; b < 8; ++b) {
      const auto scale = static_cast<float>(load_u32(p + 6 + 8 * b) >> 28);
      d[2 * b] = d[2 * b + 1] = factor * (0.5f + scale) * 0.25f;
    }
  }
  static void unpack(const uint8_t* p, uint8_t* u) {
    for (int i = 0; i < 32; ++i) {
      const uint8_t* block = p + 2 + 8 * (i / 4);
      const uint32_t signs = load_u32(block + 4) >> (7 * (i % 4));
      signed_entry(kGridIQ2_XXS.entry[block[i % 4]], eight_signs(signs), u + 8 * i);
    }
  }
};

struct IQ2_XS : SignedIq {  // f16 d, 32 words (a code-book index in 9 bits, 7 signs), 16 scales of
                            // 4 bits
  static constexpr int kBytes = 74;
  static void scales(const uint8_t* p, float* d, float*) {
    const float factor = load_f16(p);
    for (int i = 0; i < 16; ++i) {
      d[i] = factor * (0.5f + static_cast<float>(nibble_of(p + 66, i))) * 0.25f;
    }
  }
  static void unpack(const uint8_t* p, uint8_t* u) {
    for (int i = 0; i < 32; ++i) {
      const uint32_t q = load_u16(p + 2 + 2 * i);
      signed_entry(kGridIQ2_XS.entry[q & 511], eight_signs(q >> 9), u + 8 * i);
    }
  }
};

// Layout: f16 d, the low 8 bits of 32 code-book indices, 32 bytes of signs, the 2 high bits of each
// index, 16 scales of 4 bits.
struct IQ2_S : SignedIq {
  static constexpr int kBytes = 82;
  static void scales(const uint8_t* p, float* d, float*) {
    const float factor = load_f16(p);
    for (int i = 0; i < 16; ++i) {
      d[i] = factor * (0.5f + static_cast<float>(nibble_of(p + 74, i))) * 0.25f;
    }
  }
  static void unpack(const uint8_t* p, uint8_t* u) {
    for (int i = 0; i < 32; ++i) {
      const uint32_t high = p[66 + i / 4] >> (2 * (i % 4)) & 3u;
      signed_entry(kGridIQ2_S.entry[p[2 + i] | high << 8], p[34 + i], u + 8 * i);
    }
  }
};

struct IQ3_XXS : SignedIq {  // f16 d, 64 code-book indices of 8 bits (each for four weights); for
                             // each 32 weights, four groups of 7 signs and a scale of 4 bits
  static constexpr int kBytes = 98;
  static void scales(const uint8_t* p, float* d, float*) {
    const float factor = load_f16(p);
    for (int b = 0; b < 8; ++b) {
      const auto scale = static_cast<float>(load_u32(p + 66 + 4 * b) >> 28);
      d[2 * b] = d[2 * b + 1] = factor * (0.5f + scale) * 0.5f;
    }
  }
  static void unpack(const uint8_t* p, uint8_t* u) {
    for (int i = 0; i < 64; ++i) {
      const uint32_t signs = eight_signs(load_u32(p + 66 + 4 * (i / 8)) >> (7 * (i % 8 / 2)));
      signed_entry(kGridIQ3_XXS.entry[p[2 + i]], signs >> (4 * (i % 2)), u + 4 * i);
    }
  }
};

// Layout: f16 d, the low 8 bits of 64 code-book indices, the high bit of each index, 32 bytes of
// signs, 8 scales of 4 bits.
struct IQ3_S : SignedIq {
  static constexpr int kBytes = 110;
  static void scales(const uint8_t* p, float* d, float*) {
    const float factor = load_f16(p);
    for (int b = 0; b < 8; ++b) {
      d[2 * b] = d[2 * b + 1] = factor * static_cast<float>(1 + 2 * nibble_of(p + 106, b));
    }
  }
  static void unpack(const uint8_t* p, uint8_t* u) {
    for (int i = 0; i < 64; ++i) {
      const uint32_t high = p[66 + i / 8] >> (i % 8) & 1u;
      signed_entry(kGridIQ3_S.entry[p[2 + i] | high << 8],
                   static_cast<uint32_t>(p[74 + i / 2]) >> (4 * (i % 2)), u + 4 * i);
    }
  }
};

/// Decodes an entry of IQ1's code book. Each element is -1, 0 or 1, minus an eighth if `down` is
/// true and otherwise plus an eighth. Writes 8 times the element, plus kOffset (9), to u.
inline void moved_entry(uint32_t index, bool down, uint8_t* u) {
  const uint64_t entry = kGridIQ1_S.entry[index];
  for (int i = 0; i < 8; ++i) {
    u[i] = static_cast<uint8_t>((entry >> (8 * i) & 255) + (down ? 0 : 2) - 1);
  }
}

struct IQ1_S {  // f16 d, the low 8 bits of 32 code-book indices; for each 32 weights, the 3 high
                // bits of their four indices, a scale of 3 bits, the direction of the shift
  static constexpr int kWeights = 256, kBytes = 50, kOffset = 9;
  static constexpr bool kHasMin = false;
  static void scales(const uint8_t* p, float* d, float*) {
    const float eighth = load_f16(p) * 0.125f;
    for (int b = 0; b < 8; ++b) {
      const uint32_t high = load_u16(p + 34 + 2 * b);
      d[2 * b] = d[2 * b + 1] = eighth * static_cast<float>(2 * (high >> 12 & 7) + 1);
    }
  }
  static void unpack(const uint8_t* p, uint8_t* u) {
    for (int i = 0; i < 32; ++i) {
      const uint32_t high = load_u16(p + 34 + i / 4 * 2);
      moved_entry(p[2 + i] | (high >> (3 * (i % 4)) & 7) << 8, (high & 0x8000u) != 0, u + 8 * i);
    }
  }
};

// Layout: the low 8 bits of 32 code-book indices; for each index, its 3 high bits and the direction
// of the shift; four words, each with four scales of 3 bits and 4 bits of the f16 d.
struct IQ1_M {
  static constexpr int kWeights = 256, kBytes = 56, kOffset = 9;
  static constexpr bool kHasMin = false;
  static void scales(const uint8_t* p, float* d, float*) {
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) bits |= (load_u16(p + 48 + 2 * i) >> 12u) << (4 * i);
    const auto half = static_cast<uint16_t>(bits);
    uint8_t bytes[2];
    std::memcpy(bytes, &half, 2);
    const float eighth = load_f16(bytes) * 0.125f;
    for (int i = 0; i < 16; ++i) {
      const uint32_t scale = load_u16(p + 48 + i / 4 * 2) >> (3 * (i % 4)) & 7u;
      d[i] = eighth * static_cast<float>(2 * scale + 1);
    }
  }
  static void unpack(const uint8_t* p, uint8_t* u) {
    for (int i = 0; i < 32; ++i) {
      const auto high = static_cast<uint32_t>(nibble_of(p + 32, i));
      moved_entry(p[i] | (high & 7) << 8, (high & 8) != 0, u + 8 * i);
    }
  }
};

/// Adapts a type of this file to the interface of quant_blocks.h, which converts to f32.
template <class Type>
struct Expanded {
  static constexpr int kElements = Type::kWeights, kBytes = Type::kBytes;
  static void expand(const uint8_t* p, float* out) {
    float d[16], min[16];
    uint8_t u[256];
    Type::scales(p, d, min);
    Type::unpack(p, u);
    for (int i = 0; i < kElements; ++i) {
      out[i] = d[i / 16] * static_cast<float>(u[i] - Type::kOffset);
      if (Type::kHasMin) out[i] -= min[i / 16];
    }
  }
};

/// Adapts a type of this file to the interface of weight_blocks.h, in which a weight is d * u + m.
template <class Type>
struct Unpacked {
  static constexpr int kWeights = Type::kWeights, kBytes = Type::kBytes;
  static void scales(const uint8_t* p, int blocks, float* d, float* m) {
    for (int b = 0; b < blocks; ++b, p += kBytes, d += kWeights / 16, m += kWeights / 16) {
      Type::scales(p, d, m);
      for (int i = 0; i < kWeights / 16; ++i) {
        m[i] = Type::kHasMin ? -m[i] : d[i] * static_cast<float>(-Type::kOffset);
      }
    }
  }
  static void unpack(const uint8_t* p, int blocks, uint8_t* u) {
    for (int b = 0; b < blocks; ++b) Type::unpack(p + b * kBytes, u + b * kWeights);
  }
};

}  // namespace
}  // namespace longhaul::LH_ISA
