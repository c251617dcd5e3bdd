#pragma once
// Writes the results of the panel kernels, which are blocks of 32 x 32 sums. Include this only in
// *.isa.cc files, which are compiled once per instruction set.

#include "ops/core/isa/simd.h"
#include "ops/matmul/panel_gemm.h"

namespace longhaul::LH_ISA {

static inline void write_block(const float* c, int rows, int outputs, const float* bias, bool add,
                               float* y, int64_t y_stride) {
  for (int n = 0; n < outputs; n += kLanes) {
    const int live = outputs - n < kLanes ? outputs - n : kLanes;
    const Vec shift = bias == nullptr ? Vec{} : load_first(bias + n, live);
    for (int r = 0; r < rows; ++r) {
      float* to = y + r * y_stride + n;
      Vec sum = load(c + r * kBlockSide + n) + shift;
      if (add) sum += load_first(to, live);
      store_first(to, live, sum);
    }
  }
}

/// Implements PanelGemmKernels::begin and ::end for kernels that need no preparation.
static inline void nothing() {}

/// Computes the gated activation (ops/core/swiglu.h). For SwiGLU it is x / (1 + e^-x) * up.
static inline Vec gated(const Gating& how, Vec x, Vec up) {
  if (how.limit > 0) {
    const Vec most = splat(how.limit), least = splat(-how.limit);
    x = x < most ? x : most;
    up = max(up < most ? up : most, least);
  }
  if (how.shift != 0) up += splat(how.shift);
  Vec s = x;
  if (how.cubic != 0) s = fma(x * x * splat(how.cubic), x, x);
  if (how.slope != 1) s *= splat(how.slope);
  const Vec clamped = max(s, splat(-80.0f));  // e^80 is finite, and the quotient becomes 0 in f32
  const Vec power = exp2_precise(clamped * splat(-1.44269504f));
  return x * up / (splat(1.0f) + power);
}

/// Implements PanelGemmKernels::swiglu for kernels whose tiles are packed by rows.
template <int kDepth, void (*pack_rows)(const float* const rows[16], int64_t k, std::byte* tiles)>
static inline void swiglu_tiles(const Gating& gating, const float* blocks, int pairs, std::byte* to,
                                int64_t tile_stride) {
  constexpr int kBlock = kBlockSide * kBlockSide;
  for (int half = 0; half < 2; ++half) {
    float inner[kTileSide][kDepth];
    const float* rows[kTileSide];
    for (int r = 0; r < kTileSide; ++r) {
      rows[r] = inner[r];
      for (int p = 0; p < pairs; ++p) {
        const float* gate = blocks + 2 * p * kBlock + (half * kTileSide + r) * kBlockSide;
        for (int i = 0; i < kBlockSide; i += kLanes) {
          store(inner[r] + kBlockSide * p + i,
                gated(gating, load(gate + i), load(gate + kBlock + i)));
        }
      }
    }
    pack_rows(rows, pairs * kBlockSide, to + half * tile_stride);
  }
}

}  // namespace longhaul::LH_ISA
