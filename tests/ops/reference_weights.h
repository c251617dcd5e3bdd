#pragma once
// Random weights of every type, and the value of a single weight in double, computed from its
// index. This second implementation of the GGUF layouts shares nothing with the kernels.

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "base/float_types.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {

inline double f16_at(const uint8_t* p) {
  uint16_t h;
  std::memcpy(&h, p, 2);
  return static_cast<double>(f16_to_f32(h));
}

/// Factor or minimum `i` of 8 in the 12 bytes of Q4_K and Q5_K.
inline int k_scale(const uint8_t* p, int i, bool minimum) {
  const int low = i % 4 + (minimum ? 4 : 0);
  if (i < 4) return p[low] & 63;
  return ((minimum ? p[4 + i] >> 4 : p[4 + i]) & 15) | (p[low] >> 6) << 4;
}

inline int q3_scale(const uint8_t* p, int i) {
  const int low = i < 8 ? p[i] & 15 : p[i - 8] >> 4;
  return (low | (p[8 + i % 4] >> (2 * (i / 4)) & 3) << 4) - 32;
}

inline double iq4_value(int index) {
  constexpr int kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};
  return kValues[index];
}

/// Weight i of the block (or, for the plain types, the element) at p.
inline double weight_at(DType type, const uint8_t* p, int i) {
  const auto half = [&](const uint8_t* q) { return i % 32 < 16 ? q[i % 16] & 15 : q[i % 16] >> 4; };
  const auto fifth = [&](const uint8_t* q) { return (q[i / 8] >> (i % 8) & 1) << 4; };
  const auto k_half = [&](const uint8_t* q) {  // 64 weights in 32 bytes
    const int byte = q[i / 64 * 32 + i % 32];
    return i % 64 < 32 ? byte & 15 : byte >> 4;
  };
  switch (type) {
    case DType::F32: {
      float value;
      std::memcpy(&value, p, 4);
      return static_cast<double>(value);
    }
    case DType::F16:
      return f16_at(p);
    case DType::BF16: {
      uint16_t h;
      std::memcpy(&h, p, 2);
      return static_cast<double>(bf16_to_f32(h));
    }
    case DType::Q4_0:
      return f16_at(p) * (half(p + 2) - 8);
    case DType::Q4_1:
      return f16_at(p) * half(p + 4) + f16_at(p + 2);
    case DType::Q5_0:
      return f16_at(p) * ((half(p + 6) | fifth(p + 2)) - 16);
    case DType::Q5_1:
      return f16_at(p) * (half(p + 8) | fifth(p + 4)) + f16_at(p + 2);
    case DType::Q8_0:
      return f16_at(p) * static_cast<int8_t>(p[2 + i]);
    case DType::IQ4_NL:
      return f16_at(p) * iq4_value(half(p + 2));
    case DType::Q4_K:
      return f16_at(p) * k_scale(p + 4, i / 32, false) * k_half(p + 16) -
             f16_at(p + 2) * k_scale(p + 4, i / 32, true);
    case DType::Q5_K: {
      const int high = (p[16 + i % 32] >> (i / 32) & 1) << 4;
      return f16_at(p) * k_scale(p + 4, i / 32, false) * (k_half(p + 48) | high) -
             f16_at(p + 2) * k_scale(p + 4, i / 32, true);
    }
    case DType::Q6_K: {
      const int byte = p[i / 128 * 64 + i % 64];
      const int low = i % 128 < 64 ? byte & 15 : byte >> 4;
      const int high = p[128 + i / 128 * 32 + i % 32] >> (2 * (i % 128 / 32)) & 3;
      return f16_at(p + 208) * static_cast<int8_t>(p[192 + i / 16]) * ((low | high << 4) - 32);
    }
    case DType::Q3_K: {
      const int low = p[32 + i / 128 * 32 + i % 32] >> (2 * (i % 128 / 32)) & 3;
      const int high = p[i % 32] >> (i / 32) & 1;
      return f16_at(p + 108) * q3_scale(p + 96, i / 16) * (low - (high != 0 ? 0 : 4));
    }
    case DType::IQ4_XS: {
      const int b = i / 32;
      const int high = (p[2 + b / 4] >> (2 * (b % 4)) & 3) << 4;
      const int scale = ((p[4 + b / 2] >> (b % 2 * 4) & 15) | high) - 32;
      const int byte = p[8 + 16 * b + i % 16];
      return f16_at(p) * scale * iq4_value(i % 32 < 16 ? byte & 15 : byte >> 4);
    }
    default: {  // their expansion is compared with the gguf package's (dequantize_test.cc)
      float block[256];
      const std::byte* bytes = reinterpret_cast<const std::byte*>(p);
      dequantize_row(type, bytes, traits(type).block_size, block);
      return static_cast<double>(block[i]);
    }
  }
}

/// Offset of a block's f16 factor.
inline size_t factor_at(DType type) {
  switch (type) {
    case DType::Q2_K:
      return 80;
    case DType::TQ1_0:
      return 52;
    case DType::TQ2_0:
      return 64;
    default:
      return 0;
  }
}

/// `count` weights with random bits. The 16-bit floats of each block have small values.
inline std::vector<uint8_t> random_weights(DType type, int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(bytes_of(type, count));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  std::uniform_real_distribution<float> value(-1, 1);
  const auto put_f16 = [&](size_t at) {
    const f16_t h = f32_to_f16(value(random) * 0.1f);
    std::memcpy(bytes.data() + at, &h, 2);
  };
  const DTypeTraits& t = traits(type);
  const size_t step = static_cast<size_t>(t.block_bytes);
  for (size_t at = 0; at < bytes.size(); at += step) {
    switch (type) {
      case DType::F32: {
        const float f = value(random);
        std::memcpy(bytes.data() + at, &f, 4);
        break;
      }
      case DType::BF16: {
        const bf16_t h = f32_to_bf16(value(random));
        std::memcpy(bytes.data() + at, &h, 2);
        break;
      }
      case DType::Q6_K:
      case DType::Q3_K:
        put_f16(at + step - 2);
        break;
      case DType::Q2_K:
        put_f16(at + 82);
        put_f16(at + 80);
        break;
      case DType::IQ1_M: {  // in the upper quarters of four u16
        const f16_t h = f32_to_f16(value(random) * 0.1f);
        for (size_t part = 0; part < 4; ++part) {
          uint8_t& byte = bytes[at + 49 + 2 * part];
          byte = static_cast<uint8_t>((byte & 15) | (h >> (4 * part) & 15) << 4);
        }
        break;
      }
      case DType::MXFP4:
        bytes[at] = static_cast<uint8_t>(118 + bytes[at] % 6);
        break;
      case DType::NVFP4:
        for (size_t part = 0; part < 4; ++part) bytes[at + part] &= 0x2f;
        break;
      case DType::Q4_1:
      case DType::Q5_1:
      case DType::Q4_K:
      case DType::Q5_K:
        put_f16(at + 2);
        [[fallthrough]];
      default:
        put_f16(at + factor_at(type));
    }
  }
  return bytes;
}

}  // namespace longhaul
