#pragma once
// Scalar reads and writes of 16-bit floats for kernel sources. They are private to each
// instruction-set level, because the linker would merge base/float_types.h's inline functions
// across levels.

#include <cstdint>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace longhaul::LH_ISA {
namespace {

inline float float_from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t bits_from_float(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline uint16_t load_u16(const uint8_t* p) {
  uint16_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

inline uint32_t load_u32(const uint8_t* p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

/// The shifted bits represent the value times 2^-112, also for subnormals. Infinities and NaNs keep
/// their exponent.
inline float f16_value(uint32_t h) {
#if defined(__F16C__)
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(h))));
#else
  const uint32_t magnitude = h & 0x7fffu;
  const float scaled = float_from_bits(magnitude << 13) * 0x1p112f;
  const uint32_t bits =
      magnitude >= 0x7c00u ? 0x7f800000u | magnitude << 13 : bits_from_float(scaled);
  return float_from_bits(bits | (h & 0x8000u) << 16);
#endif
}

inline float load_f16(const uint8_t* p) { return f16_value(load_u16(p)); }

/// Branch-free, so that loops vectorise. It rounds as base/float_types.h does.
inline uint16_t bf16_of(float x) {
  const uint32_t u = bits_from_float(x);
  const uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
  return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : rounded);
}

inline uint16_t f16_of(float x) {
  const uint32_t u = bits_from_float(x);
  const uint32_t a = u & 0x7fffffffu;
  // The unit of f16 subnormals, 2^-24, is the unit of f32 in [0.5, 1), so the addition rounds.
  const uint32_t small =
      bits_from_float(float_from_bits(a < 0x38800000u ? a : 0) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
  const uint32_t large = a > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t magnitude = a >= 0x477ff000u ? large : a < 0x38800000u ? small : normal;
  return static_cast<uint16_t>((u >> 16 & 0x8000u) | magnitude);
}

}  // namespace
}  // namespace longhaul::LH_ISA
