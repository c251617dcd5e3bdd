#include <cuda_runtime.h>

#include "ops/choose/block_lists.gpu.h"
#include "ops/choose/select_phases.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/maps/stored_keys.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    block_rows_kernel(int64_t first, const int32_t* blocks, int64_t rows, int64_t block,
                      int64_t begin, int32_t* out) {
  await_turn();
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= rows) return;
  const int64_t behind = i - first;
  out[i] = static_cast<int32_t>(
      behind < 0 ? i : begin + blocks[behind / block] * block + behind % block);
}

/// One thread block per query head and block of tokens. It takes the head's column of votes,
/// selects the best tokens, and reads their keys.
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

void block_rows(Stream stream, int64_t first, const int32_t* blocks, int64_t count, int64_t block,
                int64_t begin, int32_t* rows) {
  const int64_t all = first + count * block;
  if (all <= 0) return;
  launch_early(stream, "block_rows", block_rows_kernel,
               static_cast<unsigned>((all + kThreads - 1) / kThreads), kThreads, 0, first, blocks,
               all, block, begin, rows);
}

void block_representatives(Stream stream, const KvForm& form, const RepresentativesTask& task) {
  const dim3 grid(static_cast<unsigned>(task.heads), static_cast<unsigned>(task.blocks));
  launch_early(stream, "block_representatives", representatives_kernel, grid, kBlockThreads, 0,
               keys_of(form), task);
}

}  // namespace longhaul::cuda
