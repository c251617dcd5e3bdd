#pragma once
// Products of heads on a GPU (ops/matmul/head_products.h).

#include <cstdint>

#include "ops/core/gpu/stream.h"
#include "ops/matmul/head_products.h"

namespace longhaul::cuda {

/// Products are bf16 x bf16 with f32 sums. Returns false for widths that do not divide into pieces
/// of 16 bytes.
bool multiply_heads(Stream stream, int64_t rows, const HeadMatrices& w,
                    const HeadNumbers<const float>& x, const HeadNumbers<float>& y);

}  // namespace longhaul::cuda
