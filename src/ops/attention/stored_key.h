#pragma once
// Converts values to stored rows of the KV store and back, on the host.
//
// Keys in Q4_0 are Hadamard-rotated before they are stored (ops/core/convert.h). A few channels of
// a key are much larger than the others, and RoPE does not change this. These channels would
// determine the scale of their block. After the rotation, each of the 32 values of a block is a
// combination of all 32. Dot products of keys and queries do not change if both are rotated.
// Ashkboos et al. 2024 (QuaRot, arXiv:2404.00456) rotate whole heads instead of blocks.

#include "ops/attention/attention.h"

namespace longhaul {

/// The type in which keys are stored Hadamard-rotated. It is a constant and not a function, because
/// kernels use it too.
constexpr DType kHadamardKeys = DType::Q4_0;

/// Converts `count` values to a stored row, or back. `key` is true for a key and false for a value.
void write_row(DType type, bool key, const float* x, int64_t count, std::byte* row);
void read_row(DType type, bool key, const std::byte* row, int64_t count, float* x);

/// Reads key `row` of a list as f32 [head_dim].
void read_key(const PagedRows& rows, int64_t row, float* key);

}  // namespace longhaul
