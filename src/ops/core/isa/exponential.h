#pragma once
// An exponential that vectorises. For *.isa.cc only.

#include "ops/core/isa/small_floats.h"

namespace longhaul::LH_ISA {
namespace {

/// e^x for -87 <= x <= 88.5: 2^n e^r with x = n ln 2 + r and a polynomial for e^r, |r| <= ln 2 / 2.
/// Relative error below 1.2e-7.
inline float exp_of(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: n in the low bits
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return float_from_bits(bits_from_float(p) + (bits_from_float(shifted) << 23));
}

/// max(-87, min(x, 88.5)) on the bits. As integers negative floats are negative, and as unsigned
/// integers they grow with their magnitude. Comparisons of floats would become branches, and the
/// compiler would then divide by the constant e^88.5 in every lane. Such quotients are subnormal,
/// which is a hundred times slower.
inline float clamped(float x) {
  const auto bits = static_cast<int32_t>(bits_from_float(x));
  const auto below = static_cast<uint32_t>(bits < 0x42b10000 ? bits : 0x42b10000);
  return float_from_bits(below < 0xc2ae0000u ? below : 0xc2ae0000u);
}

}  // namespace
}  // namespace longhaul::LH_ISA
