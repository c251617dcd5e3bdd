#pragma once
// Converts each block type to f32 in plain loops, which compilers vectorise. Faster kernels must
// produce bitwise equal results. The comment at each type lists the fields of its blocks in order.
// The layouts are those of ggml (ggml-common.h) and of the gguf package (quants.py). Include this
// only in *.isa.cc files, which are compiled once per instruction set. All names are in the
// namespace of the instruction-set level.

#include <cstdint>

#include "ops/core/isa/small_floats.h"

namespace longhaul::LH_ISA {
namespace {

/// Reads an f16 of any alignment.
inline float load_half(const uint8_t* p) {
#ifdef __F16C__
  typedef short Half8 __attribute__((vector_size(16)));
  return __builtin_ia32_vcvtph2ps(Half8{static_cast<short>(load_u16(p))})[0];
#else
  return load_f16(p);
#endif
}

/// Converts 32 elements of 4 bits to scale * (quant - zero) + offset. The low nibbles of 16 bytes
/// are elements 0 to 15, and the high nibbles are elements 16 to 31.
inline void expand_nibbles(const uint8_t* qs, float scale, int zero, float offset, float* out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>((qs[i] & 15) - zero) + offset;
    out[i + 16] = scale * static_cast<float>((qs[i] >> 4) - zero) + offset;
  }
}

/// Like expand_nibbles(), for 32 elements of 5 bits. Bit i of `high` is the fifth bit of element i.
inline void expand_5_bits(const uint8_t* qs, uint32_t high, float scale, int zero, float offset,
                          float* out) {
  for (int i = 0; i < 16; ++i) {
    const int low_bit = static_cast<int>((high >> i) & 1) << 4;
    const int high_bit = static_cast<int>((high >> (i + 16)) & 1) << 4;
    out[i] = scale * static_cast<float>(((qs[i] & 15) | low_bit) - zero) + offset;
    out[i + 16] = scale * static_cast<float>(((qs[i] >> 4) | high_bit) - zero) + offset;
  }
}

// Types without a minimum pass -0.0f as their offset, because x + -0.0f is x even for x = -0.0f.
struct Q4_0 {  // f16 d, 16 bytes of nibbles
  static constexpr int kElements = 32, kBytes = 18;
  static void expand(const uint8_t* b, float* out) {
    expand_nibbles(b + 2, load_half(b), 8, -0.0f, out);
  }
};

struct Q4_1 {  // f16 d, f16 m, 16 bytes of nibbles
  static constexpr int kElements = 32, kBytes = 20;
  static void expand(const uint8_t* b, float* out) {
    expand_nibbles(b + 4, load_half(b), 0, load_half(b + 2), out);
  }
};

struct Q5_0 {  // f16 d, 32 high bits, 16 bytes of nibbles
  static constexpr int kElements = 32, kBytes = 22;
  static void expand(const uint8_t* b, float* out) {
    expand_5_bits(b + 6, load_u32(b + 2), load_half(b), 16, -0.0f, out);
  }
};

struct Q5_1 {  // f16 d, f16 m, 32 high bits, 16 bytes of nibbles
  static constexpr int kElements = 32, kBytes = 24;
  static void expand(const uint8_t* b, float* out) {
    expand_5_bits(b + 8, load_u32(b + 4), load_half(b), 0, load_half(b + 2), out);
  }
};

struct Q8_0 {  // f16 d, 32 signed bytes
  static constexpr int kElements = 32, kBytes = 34;
  static void expand(const uint8_t* b, float* out) {
    const float d = load_half(b);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<int8_t>(b[2 + i]));
  }
};

struct Q3_K {  // 32 bytes of high bits, 64 bytes of 2-bit quants, 16 6-bit scales, f16 d
  static constexpr int kElements = 256, kBytes = 110;

  /// Returns the scale of the i-th 16 elements, from -32 to 31.
  static int scale(const uint8_t* packed, int i) {
    const int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    const int high = (packed[8 + i % 4] >> (2 * (i / 4))) & 3;
    return (low | (high << 4)) - 32;
  }
  static void expand(const uint8_t* b, float* out) {
    const float d = load_half(b + 108);
    for (int group = 0; group < 16; ++group) {  // groups of 16 elements
      const int shift = group % 8 / 2 * 2, high_bit = group / 2;
      const uint8_t* qs = b + 32 + group / 8 * 32 + group % 2 * 16;
      const uint8_t* high = b + group % 2 * 16;
      const float step = d * static_cast<float>(scale(b + 96, group));
      for (int i = 0; i < 16; ++i) {
        const int q = ((qs[i] >> shift) & 3) + (((high[i] >> high_bit) & 1) << 2) - 4;
        out[group * 16 + i] = step * static_cast<float>(q);
      }
    }
  }
};

/// The 6-bit scales and minima of the 8 sub-blocks of Q4_K and Q5_K, from 12 bytes.
struct ScalesAndMins {
  uint8_t scale[8], min[8];
  explicit ScalesAndMins(const uint8_t* packed) {
    for (int i = 0; i < 4; ++i) {
      scale[i] = packed[i] & 63;
      min[i] = packed[i + 4] & 63;
      scale[i + 4] = static_cast<uint8_t>((packed[i + 8] & 15) | ((packed[i] >> 6) << 4));
      min[i + 4] = static_cast<uint8_t>((packed[i + 8] >> 4) | ((packed[i + 4] >> 6) << 4));
    }
  }
};

struct Q4_K {  // f16 d, f16 dmin, 12 bytes of scales, 128 bytes of nibbles
  static constexpr int kElements = 256, kBytes = 144;
  static void expand(const uint8_t* b, float* out) {
    const float d = load_half(b), dmin = load_half(b + 2);
    const ScalesAndMins s(b + 4);
    for (int sub = 0; sub < 8; ++sub) {  // sub-blocks of 32 elements; two share 32 bytes
      const uint8_t* qs = b + 16 + sub / 2 * 32;
      const int shift = sub % 2 * 4;
      const float step = d * static_cast<float>(s.scale[sub]);
      const float min = dmin * static_cast<float>(s.min[sub]);
      for (int i = 0; i < 32; ++i) {
        out[sub * 32 + i] = step * static_cast<float>((qs[i] >> shift) & 15) - min;
      }
    }
  }
};

struct Q5_K {  // f16 d, f16 dmin, 12 bytes of scales, 32 bytes of high bits, 128 bytes of nibbles
  static constexpr int kElements = 256, kBytes = 176;
  static void expand(const uint8_t* b, float* out) {
    const float d = load_half(b), dmin = load_half(b + 2);
    const ScalesAndMins s(b + 4);
    const uint8_t* high = b + 16;
    for (int sub = 0; sub < 8; ++sub) {
      const uint8_t* qs = b + 48 + sub / 2 * 32;
      const int shift = sub % 2 * 4;
      const float step = d * static_cast<float>(s.scale[sub]);
      const float min = dmin * static_cast<float>(s.min[sub]);
      for (int i = 0; i < 32; ++i) {
        const int q = ((qs[i] >> shift) & 15) | (((high[i] >> sub) & 1) << 4);
        out[sub * 32 + i] = step * static_cast<float>(q) - min;
      }
    }
  }
};

struct Q6_K {  // 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed scales, f16 d
  static constexpr int kElements = 256, kBytes = 210;
  static void expand(const uint8_t* b, float* out) {
    const float d = load_half(b + 208);
    for (int group = 0; group < 16; ++group) {  // groups of 16 elements
      const int half = group / 8, row = group % 8 / 2, column = group % 2 * 16;
      const uint8_t* low = b + half * 64 + row % 2 * 32 + column;
      const uint8_t* high = b + 128 + half * 32 + column;
      const int low_shift = row / 2 * 4, high_shift = row * 2;
      const float step = d * static_cast<float>(static_cast<int8_t>(b[192 + group]));
      for (int i = 0; i < 16; ++i) {
        const int q = ((low[i] >> low_shift) & 15) | (((high[i] >> high_shift) & 3) << 4);
        out[group * 16 + i] = step * static_cast<float>(q - 32);
      }
    }
  }
};

/// The levels (the numbers that nibbles 0 to 15 represent) of IQ4_NL and IQ4_XS.
inline constexpr float kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

inline void expand_iq4(const uint8_t* qs, float scale, float* out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * kIq4Levels[qs[i] & 15];
    out[i + 16] = scale * kIq4Levels[qs[i] >> 4];
  }
}

struct IQ4_NL {  // f16 d, 16 bytes of nibbles
  static constexpr int kElements = 32, kBytes = 18;
  static void expand(const uint8_t* b, float* out) { expand_iq4(b + 2, load_half(b), out); }
};

struct IQ4_XS {  // f16 d, u16 high bits of scales, 4 bytes of low bits of scales, 128 bytes of
                 // nibbles
  static constexpr int kElements = 256, kBytes = 136;

  /// Returns the scale of the 32 elements of sub-block `sub`, from -32 to 31.
  static int scale(const uint8_t* b, int sub) {
    const int low = (b[4 + sub / 2] >> (sub % 2 * 4)) & 15;
    const int high = (load_u16(b + 2) >> (2 * sub)) & 3;
    return (low | (high << 4)) - 32;
  }
  static void expand(const uint8_t* b, float* out) {
    const float d = load_half(b);
    for (int sub = 0; sub < 8; ++sub) {
      expand_iq4(b + 8 + sub * 16, d * static_cast<float>(scale(b, sub)), out + sub * 32);
    }
  }
};

}  // namespace
}  // namespace longhaul::LH_ISA
