#pragma once
// The gated activation of the feed-forward part (Shazeer 2020, arXiv:2002.05202).

#include <cstdint>

#include "base/float_types.h"

namespace longhaul {

/// y[r, i] = silu(gate[r, i]) * up[r, i], silu(g) = g / (1 + e^-g). Rows of gate and up are
/// `stride` floats apart (>= n: both may lie in one fused projection), y is [rows, n] packed. With
/// stride == n, y may be gate or up.
void swiglu(const float* gate, const float* up, int64_t rows, int64_t n, int64_t stride, float* y);
void swiglu(const float* gate, const float* up, int64_t rows, int64_t n, int64_t stride, bf16_t* y);

}  // namespace longhaul
