#pragma once
// linear() and linear_swiglu() for many rows, with the kernels of cpu/panel_gemm.h. Each panel of
// weights is expanded to tiles, which stay in the second-level cache while all rows are multiplied
// with them. For ops/matmul/linear.cc.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/matmul/linear.h"
#include "ops/matmul/panel_gemm.h"

namespace longhaul {

/// Computes the products of all jobs. The part of an adapter is added while the sums are computed,
/// so that it needs no further pass over y.
void linear_panels(const PanelGemmKernels& kernels, LinearInput& x,
                   std::span<const LinearJob> jobs);

/// Computes gated(x gate^T, x up^T) to the tiles of LinearInput: `inner` has [ceil(rows / 32) * 2,
/// ceil(ffn / depth)] tiles. Neither product reaches memory.
void swiglu_panels(const PanelGemmKernels& kernels, LinearInput& x, const SwigluWeights& weights,
                   std::byte* inner);

/// Returns the bytes that one thread needs for expanded panels of matrices with up to `most_cols`
/// columns and for sums of `rows` rows with them.
int64_t panel_bytes(const PanelGemmKernels& kernels, int64_t rows, int64_t most_cols);

}  // namespace longhaul
