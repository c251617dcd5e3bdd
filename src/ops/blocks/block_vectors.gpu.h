#pragma once
// Block indexes in device memory: store_vectors() of ops/blocks/key_vectors.h, and the block scores
// that ops/blocks/block_index.h looks up by. Sums have a fixed order.

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Stores `count` values as `type`: F32, BF16, or Q4_0 (`count` is then a multiple of 32). `to` is
/// aligned to the type's values, for Q4_0 to 2 bytes. Returns false for other types.
bool store_vectors(Stream stream, const float* x, int64_t count, DType type, uint8_t* to);

/// Vectors [blocks, heads, count, head_dim] of F32 or BF16.
struct IndexedBlocks {
  const uint8_t* vectors = nullptr;
  DType type = DType::BF16;
  int64_t blocks = 0;
  int heads = 0, count = 0, head_dim = 0;
};

/// Computes scores[b] = sum over heads h of the largest <query[h], vectors[b][h][i]> over i.
/// Returns false for other types.
bool block_scores(Stream stream, const IndexedBlocks& index, const float* query, float* scores);

}  // namespace longhaul::cuda
