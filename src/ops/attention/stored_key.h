#pragma once
// A stored row and its numbers, on the host.
//
// Keys in Q4_0 are mixed first (ops/core/convert.h): a few channels of a key are much larger than
// the others (rotation leaves them where they are), and alone they would decide the scale of their
// block. Mixed, every number is a part of all 32, and products with queries that are mixed as well
// are the same. Ashkboos et al. 2024 (QuaRot, arXiv:2404.00456) do so with whole heads in the
// place of blocks.

#include "ops/attention/attention.h"

namespace longhaul {

/// The type whose keys are stored mixed. A constant and no function: kernels compare with it too.
constexpr DType kMixedKeys = DType::Q4_0;

/// `count` numbers as a stored key or value.
void write_row(DType type, bool key, const float* x, int64_t count, std::byte* row);
void read_row(DType type, bool key, const std::byte* row, int64_t count, float* x);

/// Row `row` as f32 [head_dim], on the host.
void read_key(const PagedRows& rows, int64_t row, float* key);

}  // namespace longhaul
