#pragma once
// Computes scores of blocks from their vectors, on a CUDA device. All addresses are device
// addresses.

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Vectors [blocks, heads, count, head_dim] of F32 or BF16.
struct IndexedBlocks {
  const uint8_t* vectors = nullptr;
  DType type = DType::BF16;
  int64_t blocks = 0;
  int heads = 0, count = 0, head_dim = 0;
};

/// Writes the score of each block b to scores[b]. It is the sum over heads h of the largest dot
/// product of query[h] and a vector vectors[b][h][i]. Returns false if the type is not supported.
bool block_scores(Stream stream, const IndexedBlocks& index, const float* query, float* scores);

}  // namespace longhaul::cuda
