#pragma once
// An exponential function that the compiler can vectorise. Include this only in *.isa.cc files,
// which are compiled once per instruction set.

#include "ops/core/isa/small_floats.h"

namespace longhaul::LH_ISA {
namespace {

/// Returns e^x for -87 <= x <= 88.5, with a relative error below 1.2e-7. It is computed as 2^n e^r,
/// where x = n ln 2 + r. e^r is a polynomial for |r| <= ln 2 / 2.
inline float exp_of(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: n in the low bits
  const float n = shifted - 12582912.0f;
  // Subtracts n ln 2 in two parts, which keeps its low bits.
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return float_from_bits(bits_from_float(p) + (bits_from_float(shifted) << 23));
}

/// Returns max(-87, min(x, 88.5)), computed on the bits of x as integers. As signed integers, the
/// bits of negative floats are negative. As unsigned integers, the bits of floats of one sign grow
/// with the magnitude. If floats were compared, the compiler would treat the limit 88.5 as a
/// separate case. For this case, a caller such as SiLU would divide by the constant e^88.5 in every
/// lane. Such quotients are subnormal, and computing them is a hundred times slower.
inline float clamped(float x) {
  const auto bits = static_cast<int32_t>(bits_from_float(x));
  const auto below = static_cast<uint32_t>(bits < 0x42b10000 ? bits : 0x42b10000);
  return float_from_bits(below < 0xc2ae0000u ? below : 0xc2ae0000u);
}

}  // namespace
}  // namespace longhaul::LH_ISA
