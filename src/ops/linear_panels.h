#pragma once
// linear() and linear_swiglu() for many rows with the kernels of cpu/panel_gemm.h: each panel of
// weights is expanded to tiles that stay in the second-level cache while all rows are multiplied
// with them. For ops/linear.cc.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/cpu/panel_gemm.h"
#include "ops/linear.h"

namespace longhaul {

void linear_panels(const PanelGemmKernels& kernels, LinearInput& x,
                   std::span<const LinearJob> jobs);

/// silu(x gate^T) * (x up^T) in tiles, as LinearInput keeps them: `inner` is
/// [ceil(rows/32) * 2, ceil(ffn/depth)] of them. Neither product reaches memory.
void swiglu_panels(const PanelGemmKernels& kernels, LinearInput& x, const TensorView& gate,
                   const TensorView& up, std::byte* inner);

/// Bytes of one thread's expanded panel of a matrix with `cols` columns, at most.
int64_t panel_bytes(int64_t cols);

}  // namespace longhaul
