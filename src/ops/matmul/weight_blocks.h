#pragma once
// Unpacks all block types to one format: 256 weights (8 blocks of 32, or one block of 256) as
// unsigned bytes u, with a factor d and a constant m for each 16 weights. A weight is d * u + m.
// For types with signed quants, m includes the offset. The layouts are those of GGUF
// (ggml-common.h). This file has plain loops, and weight_blocks_avx512.h has a version with
// intrinsics.

#include <cstdint>
#include <cstring>

#include "ops/core/isa/small_floats.h"

namespace longhaul::LH_ISA {
namespace {

inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

/// Unpacks 16 bytes whose low nibbles are weights 0 to 15 and whose high nibbles are weights 16 to
/// 31.
inline void unpack_halves(const uint8_t* p, uint8_t* u) {
  for (int i = 0; i < 16; ++i) {
    u[i] = p[i] & 15;
    u[i + 16] = static_cast<uint8_t>(p[i] >> 4);
  }
}

/// Adds 16 to weight i if bit i of `bits` is set.
inline void add_fifth_bits(uint32_t bits, uint8_t* u) {
  for (int i = 0; i < 32; ++i) u[i] = static_cast<uint8_t>(u[i] | ((bits >> i & 1u) << 4));
}

inline void map_iq4(uint8_t* u, int count) {
  for (int i = 0; i < count; ++i) u[i] = static_cast<uint8_t>(kIq4Values[u[i]] + 128);
}

/// Types with 32 weights per block. If kHasMin is true, an f16 minimum follows the f16 factor.
/// Otherwise a weight is factor * (u - kOffset).
template <class Type>
struct Blocks32 {
  static constexpr int kWeights = 32;
  static constexpr bool kScalePer16 = false;

  static void scales(const uint8_t* p, int blocks, float* d, float* m) {
    for (int b = 0; b < blocks; ++b, p += Type::kBytes) {
      const float factor = load_f16(p);
      const float constant = Type::kHasMin ? load_f16(p + 2) : factor * -Type::kOffset;
      d[2 * b] = d[2 * b + 1] = factor;
      m[2 * b] = m[2 * b + 1] = constant;
    }
  }
  static void unpack(const uint8_t* p, int blocks, uint8_t* u) {
    for (int b = 0; b < blocks; ++b) Type::unpack_block(p + b * Type::kBytes, u + 32 * b);
  }
};

struct Q4_0 : Blocks32<Q4_0> {
  static constexpr int kBytes = 18, kOffset = 8;
  static constexpr bool kHasMin = false, kAbove127 = false;
  static void unpack_block(const uint8_t* p, uint8_t* u) { unpack_halves(p + 2, u); }
};

struct Q4_1 : Blocks32<Q4_1> {
  static constexpr int kBytes = 20, kOffset = 0;
  static constexpr bool kHasMin = true, kAbove127 = false;
  static void unpack_block(const uint8_t* p, uint8_t* u) { unpack_halves(p + 4, u); }
};

struct Q5_0 : Blocks32<Q5_0> {
  static constexpr int kBytes = 22, kOffset = 16;
  static constexpr bool kHasMin = false, kAbove127 = false;
  static void unpack_block(const uint8_t* p, uint8_t* u) {
    unpack_halves(p + 6, u);
    add_fifth_bits(load_u32(p + 2), u);
  }
};

struct Q5_1 : Blocks32<Q5_1> {
  static constexpr int kBytes = 24, kOffset = 0;
  static constexpr bool kHasMin = true, kAbove127 = false;
  static void unpack_block(const uint8_t* p, uint8_t* u) {
    unpack_halves(p + 8, u);
    add_fifth_bits(load_u32(p + 4), u);
  }
};

struct Q8_0 : Blocks32<Q8_0> {
  static constexpr int kBytes = 34, kOffset = 128;
  static constexpr bool kHasMin = false, kAbove127 = true;
  static void unpack_block(const uint8_t* p, uint8_t* u) {
    for (int i = 0; i < 32; ++i) u[i] = p[2 + i] ^ 128;
  }
};

struct IQ4_NL : Blocks32<IQ4_NL> {
  static constexpr int kBytes = 18, kOffset = 128;
  static constexpr bool kHasMin = false, kAbove127 = true;
  static void unpack_block(const uint8_t* p, uint8_t* u) {
    unpack_halves(p + 2, u);
    map_iq4(u, 32);
  }
};

/// Unpacks the eight 6-bit factors and eight 6-bit minima of Q4_K or Q5_K from 12 bytes.
inline void unpack_k_scales(const uint8_t* p, uint8_t* factors, uint8_t* minima) {
  const uint32_t a = load_u32(p), b = load_u32(p + 4), c = load_u32(p + 8);
  const uint32_t f[2] = {a & 0x3f3f3f3fu, (c & 0x0f0f0f0fu) | (a >> 6 & 0x03030303u) << 4};
  const uint32_t m[2] = {b & 0x3f3f3f3fu, (c >> 4 & 0x0f0f0f0fu) | (b >> 6 & 0x03030303u) << 4};
  std::memcpy(factors, f, 8);
  std::memcpy(minima, m, 8);
}

inline void scales_with_minima(const uint8_t* p, float* d, float* m) {
  const float factor = load_f16(p), minimum = load_f16(p + 2);
  uint8_t factors[8], minima[8];
  unpack_k_scales(p + 4, factors, minima);
  for (int i = 0; i < 16; ++i) {
    d[i] = factor * factors[i / 2];
    m[i] = -minimum * minima[i / 2];
  }
}

/// Unpacks four pieces of 32 bytes to 64 weights each. The low nibbles of a piece are its weights 0
/// to 31, and the high nibbles are its weights 32 to 63.
inline void unpack_k_halves(const uint8_t* p, uint8_t* u) {
  for (int j = 0; j < 4; ++j, p += 32, u += 64) {
    for (int i = 0; i < 32; ++i) {
      u[i] = p[i] & 15;
      u[i + 32] = static_cast<uint8_t>(p[i] >> 4);
    }
  }
}

struct Q4_K {
  static constexpr int kWeights = 256, kBytes = 144;
  static constexpr bool kScalePer16 = false, kAbove127 = false;
  static void scales(const uint8_t* p, int, float* d, float* m) { scales_with_minima(p, d, m); }
  static void unpack(const uint8_t* p, int, uint8_t* u) { unpack_k_halves(p + 16, u); }
};

struct Q5_K {
  static constexpr int kWeights = 256, kBytes = 176;
  static constexpr bool kScalePer16 = false, kAbove127 = false;
  static void scales(const uint8_t* p, int, float* d, float* m) { scales_with_minima(p, d, m); }
  static void unpack(const uint8_t* p, int, uint8_t* u) {
    unpack_k_halves(p + 48, u);
    for (int j = 0; j < 8; ++j) {
      for (int i = 0; i < 32; ++i) {
        u[32 * j + i] = static_cast<uint8_t>(u[32 * j + i] | (p[16 + i] >> j & 1) << 4);
      }
    }
  }
};

struct Q6_K {
  static constexpr int kWeights = 256, kBytes = 210;
  static constexpr bool kScalePer16 = true, kAbove127 = false;
  static void scales(const uint8_t* p, int, float* d, float* m) {
    const float factor = load_f16(p + 208);
    for (int i = 0; i < 16; ++i) {
      d[i] = factor * static_cast<float>(static_cast<int8_t>(p[192 + i]));
      m[i] = d[i] * -32.0f;
    }
  }
  static void unpack(const uint8_t* p, int, uint8_t* u) {
    for (int half = 0; half < 2; ++half, u += 128) {
      const uint8_t* low = p + 64 * half;
      const uint8_t* high = p + 128 + 32 * half;
      for (int i = 0; i < 64; ++i) {
        u[i] = static_cast<uint8_t>((low[i] & 15) | (high[i & 31] >> (i >= 32 ? 2 : 0) & 3) << 4);
        u[i + 64] =
            static_cast<uint8_t>(low[i] >> 4 | (high[i & 31] >> (i >= 32 ? 6 : 4) & 3) << 4);
      }
    }
  }
};

struct Q3_K {
  static constexpr int kWeights = 256, kBytes = 110;
  static constexpr bool kScalePer16 = true, kAbove127 = false;
  static void scales(const uint8_t* p, int, float* d, float* m) {
    const float factor = load_f16(p + 108);
    const uint32_t a = load_u32(p + 96), b = load_u32(p + 100), c = load_u32(p + 104);
    const uint32_t words[4] = {(a & 0x0f0f0f0fu) | (c & 0x03030303u) << 4,
                               (b & 0x0f0f0f0fu) | (c >> 2 & 0x03030303u) << 4,
                               (a >> 4 & 0x0f0f0f0fu) | (c >> 4 & 0x03030303u) << 4,
                               (b >> 4 & 0x0f0f0f0fu) | (c >> 6 & 0x03030303u) << 4};
    uint8_t factors[16];
    std::memcpy(factors, words, 16);
    for (int i = 0; i < 16; ++i) {
      d[i] = factor * static_cast<float>(factors[i] - 32);
      m[i] = d[i] * -4.0f;
    }
  }
  static void unpack(const uint8_t* p, int, uint8_t* u) {
    for (int j = 0; j < 8; ++j, u += 32) {
      const uint8_t* low = p + 32 + 32 * (j / 4);
      for (int i = 0; i < 32; ++i) {
        u[i] = static_cast<uint8_t>((low[i] >> (2 * (j % 4)) & 3) | (p[i] >> j & 1) << 2);
      }
    }
  }
};

struct IQ4_XS {
  static constexpr int kWeights = 256, kBytes = 136;
  static constexpr bool kScalePer16 = false, kAbove127 = true;
  static void scales(const uint8_t* p, int, float* d, float* m) {
    const float factor = load_f16(p);
    const uint32_t high = load_u16(p + 2);
    for (int i = 0; i < 16; ++i) {
      const int b = i / 2;
      const int low = p[4 + b / 2] >> (b % 2 * 4) & 15;
      d[i] = factor * static_cast<float>((low | static_cast<int>(high >> (2 * b) & 3) << 4) - 32);
      m[i] = d[i] * -128.0f;
    }
  }
  static void unpack(const uint8_t* p, int, uint8_t* u) {
    for (int j = 0; j < 8; ++j) unpack_halves(p + 8 + 16 * j, u + 32 * j);
    map_iq4(u, 256);
  }
};

}  // namespace
}  // namespace longhaul::LH_ISA
