#pragma once
// Indexes of blocks in device memory: store_vectors() of ops/blocks/key_vectors.h, and the scores
// of blocks that ops/blocks/block_index.h looks up by. Sums have a fixed order.

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// `count` numbers as `type`: F32, BF16, or Q4_0 (then a multiple of 32). The address `to` is
/// aligned to the numbers of the type, of Q4_0 to 2 bytes. False for other types.
bool store_vectors(Stream stream, const float* x, int64_t count, DType type, uint8_t* to);

/// Vectors [blocks, heads, count, head_dim] of F32 or BF16.
struct IndexedBlocks {
  const uint8_t* vectors = nullptr;
  DType type = DType::BF16;
  int64_t blocks = 0;
  int heads = 0, count = 0, head_dim = 0;
};

/// scores[b] = sum over heads h of the largest <query[h], vectors[b][h][i]>. False for other types.
bool block_scores(Stream stream, const IndexedBlocks& index, const float* query, float* scores);

}  // namespace longhaul::cuda
