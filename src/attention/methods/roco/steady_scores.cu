#include <cuda_runtime.h>

#include <algorithm>

#include "attention/methods/roco/steady_scores.gpu.h"
#include "ops/core/gpu/in_launches.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    seen_kernel(int64_t rows, const __grid_constant__ Records<SeenColumn> columns) {
  const SeenColumn& column = columns.each[blockIdx.y];
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= column.count) return;
  const int64_t later = column.count - i;
  column.numbers[i] += static_cast<float>(later < rows ? later : rows);
}

__global__ void __launch_bounds__(kBlockThreads) steady_kernel(const SteadyTask* tasks) {
  __shared__ SelectShared shared;
  const SteadyTask task = tasks[blockIdx.x];
  steady_scores(CudaBlock{}, shared, task);
}

}  // namespace

void add_seen(Stream stream, int64_t rows, std::span<const SeenColumn> columns) {
  int64_t longest = 1;
  for (const SeenColumn& column : columns) longest = std::max(longest, column.count);
  const auto blocks = static_cast<unsigned>((longest + kThreads - 1) / kThreads);
  in_launches(columns, "add_seen", [&](const Records<SeenColumn>& some, unsigned count) {
    seen_kernel<<<dim3(blocks, count), kThreads, 0, stream>>>(rows, some);
  });
}

void steady_scores(Stream stream, std::span<const SteadyTask> lists, ScoreScratch& scratch) {
  if (lists.empty()) return;
  const SteadyTask* const there = scratch.upload(stream, lists);
  steady_kernel<<<static_cast<unsigned>(lists.size()), kBlockThreads, 0, stream>>>(there);
  check_launch("steady_scores");
}

}  // namespace longhaul::cuda
