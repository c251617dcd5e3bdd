#pragma once
// Converts values to stored rows and back, on the host.
//
// Keys in Q4_0 are Hadamard-rotated first (ops/core/convert.h). A few channels of a key are much
// larger than the others (RoPE does not move them), and would otherwise determine the scale of
// their block. After the transform, each of the 32 values of a block is a combination of all 32.
// Products of keys with queries do not change if both are transformed. Ashkboos et al. 2024
// (QuaRot, arXiv:2404.00456) transform whole heads instead of blocks.

#include "ops/attention/attention.h"

namespace longhaul {

/// The type whose keys are stored Hadamard-rotated. It is a constant, not a function, because
/// kernels use it too.
constexpr DType kHadamardKeys = DType::Q4_0;

/// Converts `count` values to or from a stored key or value row.
void write_row(DType type, bool key, const float* x, int64_t count, std::byte* row);
void read_row(DType type, bool key, const std::byte* row, int64_t count, float* x);

/// Reads row `row` as f32 [head_dim], on the host.
void read_key(const PagedRows& rows, int64_t row, float* key);

}  // namespace longhaul
