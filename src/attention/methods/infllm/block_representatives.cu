#include <cuda_runtime.h>

#include "attention/methods/infllm/block_representatives.gpu.h"
#include "ops/choose/select_phases.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/maps/stored_keys.cuh"

namespace longhaul::cuda {
namespace {

/// Selects the tokens with most votes and reads their keys, with one thread block per query head
/// and block of tokens.
__global__ void __launch_bounds__(kBlockThreads)
    representatives_kernel(StoredRows keys, RepresentativesTask task) {
  __shared__ SelectShared shared;
  await_turn();
  const int head = static_cast<int>(blockIdx.x), dim = keys.head_dim;
  const int64_t column_number = blockIdx.y * int64_t{task.heads} + head;
  const int64_t first = task.first + blockIdx.y * task.tokens;
  const float* const votes = task.votes + blockIdx.y * task.tokens * task.heads + head;
  float* const column = task.columns + column_number * task.tokens;
  int32_t* const chosen = task.chosen + column_number * task.count;
  float* const out = task.out + column_number * (task.mean ? 1 : task.count) * dim;
  const CudaBlock block;
  block.each([&](int t) {
    for (int64_t i = t; i < task.tokens; i += kBlockThreads) column[i] = votes[i * task.heads];
  });
  select_rows(block, shared, SelectTask{column, task.tokens, 0, 0, task.count, chosen});
  keys.pages = task.lists[head / (task.heads / task.kv_heads)];
  if (task.mean) {
    const float share = 1.0f / static_cast<float>(task.count);
    for (int t = static_cast<int>(threadIdx.x); t < dim; t += kBlockThreads) {
      float sum = 0;
      for (int64_t i = 0; i < task.count; ++i) {
        sum = fmaf(keys.at(keys.row(first + chosen[i]), t), share, sum);
      }
      out[t] = sum;
    }
    return;
  }
  for (int64_t at = threadIdx.x; at < task.count * dim; at += kBlockThreads) {
    const std::byte* const row = keys.row(first + chosen[at / dim]);
    out[at] = keys.at(row, static_cast<int>(at % dim));
  }
}

}  // namespace

void block_representatives(Stream stream, const KvForm& form, const RepresentativesTask& task) {
  const dim3 grid(static_cast<unsigned>(task.heads), static_cast<unsigned>(task.blocks));
  launch_early(stream, "block_representatives", representatives_kernel, grid, kBlockThreads, 0,
               keys_of(form), task);
}

}  // namespace longhaul::cuda
