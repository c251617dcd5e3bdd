#pragma once
// Implements multiply_heads() of ops/matmul/head_products.h on a GPU.

#include <cstdint>

#include "ops/core/gpu/stream.h"
#include "ops/matmul/head_products.h"

namespace longhaul::cuda {

/// Computes the products with bf16 operands and f32 sums. Returns false if the width of x or y is
/// not a multiple of 16 bytes.
bool multiply_heads(Stream stream, int64_t rows, const HeadMatrices& w,
                    const HeadNumbers<const float>& x, const HeadNumbers<float>& y);

}  // namespace longhaul::cuda
