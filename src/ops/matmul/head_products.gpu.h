#pragma once
// Implements multiply_heads() of ops/matmul/head_products.h on a GPU.

#include <cstdint>

#include "ops/core/gpu/stream.h"
#include "ops/matmul/head_products.h"

namespace longhaul::cuda {

/// Multiplies bf16 by bf16 with f32 sums. Returns false if a width is not a whole number of pieces
/// of 16 bytes.
bool multiply_heads(Stream stream, int64_t rows, const HeadMatrices& w,
                    const HeadNumbers<const float>& x, const HeadNumbers<float>& y);

}  // namespace longhaul::cuda
