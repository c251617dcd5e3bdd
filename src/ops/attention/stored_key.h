#pragma once
// Converts keys and values to stored rows of the KV store and back, on the host.
//
// Keys in Q4_0 are Hadamard-rotated before they are stored (ops/core/convert.h). A few elements of
// every key are much larger than the others, with or without RoPE. Without the rotation, these
// elements would determine the scale of their block, and the other elements would lose precision.
// After the Hadamard rotation, each of the 32 elements of a block is a combination of all 32. The
// dot product of a key and a query does not change if both are rotated. Ashkboos et al. 2024
// (QuaRot, arXiv:2404.00456) rotate whole heads instead of blocks.

#include "ops/attention/attention.h"

namespace longhaul {

/// The type in which keys are stored Hadamard-rotated.
constexpr DType kHadamardKeys = DType::Q4_0;

/// write_row() converts `count` numbers to a stored key (if `key` is true) or a stored value.
/// read_row() converts it back.
void write_row(DType type, bool key, const float* x, int64_t count, std::byte* row);
void read_row(DType type, bool key, const std::byte* row, int64_t count, float* x);

/// Reads the key of stored row `row` as f32 [head_dim].
void read_key(const PagedRows& rows, int64_t row, float* key);

}  // namespace longhaul
