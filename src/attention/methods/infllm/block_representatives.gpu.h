#pragma once
// Computes representatives of blocks on a CUDA device. All addresses are device addresses.

#include "ops/attention/kv.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

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
