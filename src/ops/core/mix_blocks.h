#pragma once
// Computes the Walsh-Hadamard transform (also called Hadamard rotation) of blocks of 32 numbers. It
// is scaled so that the lengths and dot products of vectors do not change. It is its own inverse.
// Keys in Q4_0 are stored transformed (ops/attention/stored_key.h). Include this only in *.isa.cc
// files, which are compiled once per instruction set.

#include "ops/core/isa/simd.h"

namespace longhaul::LH_ISA {

/// Returns x with the lanes permuted: lane i of the result is lane i ^ s of x.
template <int s, class V>
static inline V swap_lanes(V x) {
  constexpr int kCount = sizeof(V) / sizeof(float);
  if constexpr (kCount == 4) {
    return __builtin_shufflevector(x, x, 0 ^ s, 1 ^ s, 2 ^ s, 3 ^ s);
  } else if constexpr (kCount == 8) {
    return __builtin_shufflevector(x, x, 0 ^ s, 1 ^ s, 2 ^ s, 3 ^ s, 4 ^ s, 5 ^ s, 6 ^ s, 7 ^ s);
  } else {
    return __builtin_shufflevector(x, x, 0 ^ s, 1 ^ s, 2 ^ s, 3 ^ s, 4 ^ s, 5 ^ s, 6 ^ s, 7 ^ s,
                                   8 ^ s, 9 ^ s, 10 ^ s, 11 ^ s, 12 ^ s, 13 ^ s, 14 ^ s, 15 ^ s);
  }
}

/// Computes one step of the transform: for two lanes i and i + kStep, lane i becomes the sum, and
/// lane i + kStep becomes the difference x[i] - x[i + kStep].
template <int kStep>
static inline Vec mix_lanes(Vec x) {
  Vec sign;
  for (int i = 0; i < kLanes; ++i) sign[i] = (i & kStep) != 0 ? -1.0f : 1.0f;
  return x * sign + swap_lanes<kStep>(x);
}

static inline void mix_block(float* x) {
  constexpr int kVectors = 32 / kLanes;
  Vec v[kVectors];
  for (int n = 0; n < kVectors; ++n) {
    v[n] = mix_lanes<2>(mix_lanes<1>(load(x + n * kLanes)));
    if constexpr (kLanes > 4) v[n] = mix_lanes<4>(v[n]);
    if constexpr (kLanes > 8) v[n] = mix_lanes<8>(v[n]);
  }
  for (int step = 1; step < kVectors; step *= 2) {
    for (int n = 0; n < kVectors; ++n) {
      if ((n & step) != 0) continue;
      const Vec a = v[n], b = v[n + step];
      v[n] = a + b;
      v[n + step] = a - b;
    }
  }
  for (int n = 0; n < kVectors; ++n) store(x + n * kLanes, v[n] * splat(0.176776695f));
}

/// Transforms `count` numbers in blocks of 32. `count` is a multiple of 32.
static inline void mix_blocks(float* x, int64_t count) {
  for (int64_t i = 0; i < count; i += 32) mix_block(x + i);
}

}  // namespace longhaul::LH_ISA
