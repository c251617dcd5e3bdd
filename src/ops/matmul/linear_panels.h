#pragma once
// linear() and linear_swiglu() for many rows with the kernels of cpu/panel_gemm.h: each panel of
// weights is expanded to tiles that stay in the second-level cache while all rows are multiplied
// with them. For ops/matmul/linear.cc.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/matmul/linear.h"
#include "ops/matmul/panel_gemm.h"

namespace longhaul {

/// An adapter's part is added to the sums where they are made: it costs no further pass over y.
void linear_panels(const PanelGemmKernels& kernels, LinearInput& x,
                   std::span<const LinearJob> jobs);

/// gated(x gate^T, x up^T) in tiles, as LinearInput keeps them: `inner` is
/// [ceil(rows/32) * 2, ceil(ffn/depth)] of them. Neither product reaches memory.
void swiglu_panels(const PanelGemmKernels& kernels, LinearInput& x, const SwigluWeights& weights,
                   std::byte* inner);

/// Bytes that one thread takes for expanded panels of matrices with up to `most_cols` columns and
/// for sums of `rows` rows with them.
int64_t panel_bytes(const PanelGemmKernels& kernels, int64_t rows, int64_t most_cols);

}  // namespace longhaul
