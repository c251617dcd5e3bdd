#pragma once
// block_rows() of ops/blocks/block_rows.h and block_representatives() of
// ops/blocks/block_representatives.h on a CUDA device. All addresses are device addresses.

#include <cstdint>

#include "ops/attention/kv.h"

namespace longhaul::cuda {

/// Writes first + count * block row numbers: 0 to first - 1, then the rows of each block.
void block_rows(Stream stream, int64_t first, const int32_t* blocks, int64_t count, int64_t block,
                int64_t begin, int32_t* rows);

struct RepresentativesTask {
  const PageTable* lists = nullptr;  ///< one per KV head
  int64_t first = 0, tokens = 0;
  const float* votes = nullptr;  ///< [blocks, tokens, heads]
  int heads = 0, kv_heads = 0;
  int64_t count = 1;
  bool mean = true;
  int64_t blocks = 1;
  float* columns = nullptr;   ///< scratch [blocks, heads, tokens]
  int32_t* chosen = nullptr;  ///< scratch [blocks, heads, count]
  float* out = nullptr;       ///< [blocks, heads, count, head_dim], or [blocks, heads, head_dim]
};
void block_representatives(Stream stream, const KvForm& form, const RepresentativesTask& task);

}  // namespace longhaul::cuda
