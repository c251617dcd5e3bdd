#pragma once
// Implements block_representatives() of attention/methods/infllm/block_representatives.h on a CUDA
// device. All addresses are device addresses.

#include "ops/attention/kv.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

struct RepresentativesTask {
  const PageTable* lists = nullptr;  ///< stored rows, one list per KV head
  int64_t first = 0, tokens = 0;
  const float* votes = nullptr;  ///< [blocks, tokens, heads]
  int heads = 0, kv_heads = 0;
  int64_t count = 1;
  bool mean = true;
  int64_t blocks = 1;
  float* columns = nullptr;   ///< scratch [blocks, heads, tokens]: transposed votes
  int32_t* chosen = nullptr;  ///< scratch [blocks, heads, count]: chosen tokens
  /// [blocks, heads, count, head_dim], or [blocks, heads, head_dim] with `mean`.
  float* out = nullptr;
};
void block_representatives(Stream stream, const KvForm& form, const RepresentativesTask& task);

}  // namespace longhaul::cuda
