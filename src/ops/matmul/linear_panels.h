#pragma once
// Implements linear() and linear_swiglu() for many rows, with the kernels of
// ops/matmul/panel_gemm.h. Each panel (range of outputs) of the weights is converted to tiles,
// which stay in the L2 cache while they are multiplied by all rows. Only ops/matmul/linear.cc uses
// this file.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/matmul/linear.h"
#include "ops/matmul/panel_gemm.h"

namespace longhaul {

/// Computes the products of all jobs. The product of an adapter is added to the sums before these
/// are written, so that y is written only once.
void linear_panels(const PanelGemmKernels& kernels, LinearInput& x,
                   std::span<const LinearJob> jobs);

/// Computes gated(x gate^T, x up^T) and writes it to `inner`, as [ceil(rows / 32) * 2,
/// ceil(ffn / depth)] tiles (LinearInput::tiles()). The two products are never written to memory.
void swiglu_panels(const PanelGemmKernels& kernels, LinearInput& x, const SwigluWeights& weights,
                   std::byte* inner);

/// Returns the size in bytes of the memory that one thread needs for converted panels of matrices
/// with up to `most_cols` columns, and for the sums of `rows` rows.
int64_t panel_bytes(const PanelGemmKernels& kernels, int64_t rows, int64_t most_cols);

}  // namespace longhaul
