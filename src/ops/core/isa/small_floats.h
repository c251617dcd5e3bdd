#pragma once
// Scalar reads and writes of 16-bit floats, for kernel sources. Each instruction-set level has its
// own copy of these functions. Kernels must not use the inline functions of base/float_types.h. The
// linker would keep only one level's copy of them, which may contain instructions that the CPU
// lacks.

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

/// Converts an f16 to f32. The magnitude, shifted to its place in f32, is the value times 2^-112,
/// also for subnormals. Infinities and NaNs get the exponent of infinity.
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

/// Converts x to bf16, rounded as in base/float_types.h. The function has no branches, so loops
/// that call it vectorise.
inline uint16_t bf16_of(float x) {
  const uint32_t u = bits_from_float(x);
  const uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
  return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : rounded);
}

inline uint16_t f16_of(float x) {
  const uint32_t u = bits_from_float(x);
  const uint32_t a = u & 0x7fffffffu;
  // The smallest f16 subnormal, 2^-24, is the spacing of f32 numbers in [0.5, 1). Adding 0.5 to a
  // number that becomes a subnormal therefore rounds it as f16 does.
  const uint32_t small =
      bits_from_float(float_from_bits(a < 0x38800000u ? a : 0) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
  const uint32_t large = a > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t magnitude = a >= 0x477ff000u ? large : a < 0x38800000u ? small : normal;
  return static_cast<uint16_t>((u >> 16 & 0x8000u) | magnitude);
}

}  // namespace
}  // namespace longhaul::LH_ISA
