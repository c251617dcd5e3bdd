#pragma once
// A stored row and its values, on the host.
//
// Keys in Q4_0 are Hadamard-rotated first (ops/core/convert.h). A few channels of a key are much
// larger than the others (RoPE does not move them), and would otherwise determine the scale of
// their block. After the transform every value is a combination of all 32. Products with queries
// that are transformed as well do not change. Ashkboos et al. 2024 (QuaRot, arXiv:2404.00456)
// transform whole heads instead of blocks.

#include "ops/attention/attention.h"

namespace longhaul {

/// The type whose keys are stored Hadamard-rotated. It is a constant, not a function, because
/// kernels use it too.
constexpr DType kHadamardKeys = DType::Q4_0;

/// Converts `count` values to or from a stored key or value row.
void write_row(DType type, bool key, const float* x, int64_t count, std::byte* row);
void read_row(DType type, bool key, const std::byte* row, int64_t count, float* x);

/// Row `row` as f32 [head_dim], on the host.
void read_key(const PagedRows& rows, int64_t row, float* key);

}  // namespace longhaul
