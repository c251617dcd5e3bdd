#pragma once
// Block indexes in device memory: store_vectors() of ops/blocks/key_vectors.h and the scores of
// ops/blocks/block_index.h. Values are added in a fixed order.

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Converts `count` values to `type` and stores them. The type is F32, BF16 or Q4_0. For Q4_0,
/// `count` is a multiple of 32, and `to` is aligned to 2 bytes. For other types, `to` is aligned to
/// the size of an element. Returns false if the type is not supported.
bool store_vectors(Stream stream, const float* x, int64_t count, DType type, uint8_t* to);

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
