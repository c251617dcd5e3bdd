#pragma once
// Converts between f32 and 16-bit floats. Every bit of a result is defined: results are rounded to
// nearest, ties to even.

#include <bit>
#include <cstdint>

namespace longhaul {

using bf16_t = uint16_t;  ///< upper half of an f32
using f16_t = uint16_t;   ///< IEEE 754 binary16

inline float bf16_to_f32(bf16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

inline bf16_t f32_to_bf16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<bf16_t>((u >> 16) | 0x40u);  // quiet NaN
  return static_cast<bf16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

inline float f16_to_f32(f16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude < 0x0400u) {  // zero and subnormals: magnitude * 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
}

inline f16_t f32_to_f16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  const uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
  const uint32_t a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<f16_t>(sign | 0x7e00u);   // NaN
  if (a >= 0x477ff000u) return static_cast<f16_t>(sign | 0x7c00u);  // rounds to infinity
  if (a < 0x38800000u) {                                            // subnormal or zero
    const float scaled = std::bit_cast<float>(a) + 0.5f;            // ulp of [0.5,1) is 2^-24
    return static_cast<f16_t>(sign | (std::bit_cast<uint32_t>(scaled) - 0x3f000000u));
  }
  const uint32_t rounded = a + 0xfffu + ((a >> 13) & 1u);
  return static_cast<f16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

}  // namespace longhaul
