#pragma once
// linear() and linear_swiglu() for many rows in bf16: each panel of weights is expanded to tiles
// that stay in the second-level cache while all rows are multiplied with them (cpu/panel_gemm.h).
// For ops/linear.cc, at ISA levels that have bf16 products.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/linear.h"

namespace longhaul {

void linear_bf16(LinearInput& x, std::span<const LinearJob> jobs);

/// silu(x gate^T) * (x up^T) in tiles, as LinearInput keeps them: `inner` is
/// [ceil(rows/32) * 2, ceil(ffn/32)] of them. Neither product reaches memory.
void swiglu_bf16(LinearInput& x, const TensorView& gate, const TensorView& up, bf16_t* inner);

/// Bytes of one thread's expanded panel of a matrix with `cols` columns.
int64_t bf16_panel_bytes(int64_t cols);

}  // namespace longhaul
