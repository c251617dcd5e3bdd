#pragma once
// Computes the scores of InfLLM's blocks on a CUDA device. A block of old tokens is represented by
// `count` vectors per query head (attention/methods/infllm/block_index.h). All addresses are device
// addresses.

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// The vectors of all blocks, [blocks, heads, count, head_dim] in F32 or BF16.
struct IndexedBlocks {
  const uint8_t* vectors = nullptr;
  DType type = DType::BF16;
  int64_t blocks = 0;
  int heads = 0, count = 0, head_dim = 0;
};

/// Writes the score of each block b to scores[b]: the sum over heads h of the maximum over i of
/// query[h] . vectors[b][h][i]. `query` is [heads, head_dim]. Returns false if the type is not
/// supported.
bool block_scores(Stream stream, const IndexedBlocks& index, const float* query, float* scores);

}  // namespace longhaul::cuda
