#include <cuda_runtime.h>

#include "ops/cuda/block_lists.h"
#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/select_phases.h"
#include "ops/cuda/stored_keys.cuh"

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

/// A block of threads for every query head: its column of votes, the best of it, their keys.
__global__ void __launch_bounds__(kBlockThreads)
    representatives_kernel(StoredRows keys, RepresentativesTask task) {
  __shared__ SelectShared shared;
  const int head = static_cast<int>(blockIdx.x), dim = keys.head_dim;
  float* const column = task.columns + head * task.tokens;
  int32_t* const chosen = task.chosen + head * task.count;
  const CudaBlock block;
  block.each([&](int t) {
    for (int64_t i = t; i < task.tokens; i += kBlockThreads) {
      column[i] = task.votes[i * task.heads + head];
    }
  });
  select_rows(block, shared, SelectTask{column, task.tokens, 0, 0, task.count, chosen});
  keys.pages = task.lists[head / (task.heads / task.kv_heads)];
  if (task.mean) {
    const float share = 1.0f / static_cast<float>(task.count);
    for (int t = static_cast<int>(threadIdx.x); t < dim; t += kBlockThreads) {
      float sum = 0;
      for (int64_t i = 0; i < task.count; ++i) {
        sum = fmaf(keys.at(keys.row(task.first + chosen[i]), t), share, sum);
      }
      task.out[int64_t{head} * dim + t] = sum;
    }
    return;
  }
  for (int64_t at = threadIdx.x; at < task.count * dim; at += kBlockThreads) {
    const std::byte* const row = keys.row(task.first + chosen[at / dim]);
    task.out[head * task.count * dim + at] = keys.at(row, static_cast<int>(at % dim));
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
  representatives_kernel<<<static_cast<unsigned>(task.heads), kBlockThreads, 0, stream>>>(
      keys_of(form), task);
  check_launch("block_representatives");
}

}  // namespace longhaul::cuda
