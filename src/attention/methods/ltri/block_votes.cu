#include <cuda_runtime.h>

#include "attention/methods/ltri/block_votes.gpu.h"
#include "ops/core/gpu/early_launch.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    add_weight_kernel(const int32_t* chosen, int64_t count, float weight, float* weights) {
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  await_turn();
  if (i < count) weights[chosen[i]] += weight;
}

__global__ void __launch_bounds__(kBlockThreads) most_weighted_kernel(PairTask task) {
  __shared__ SelectShared shared;
  await_turn();
  select_pairs(CudaBlock{}, shared, task);
}

}  // namespace

void add_weight(Stream stream, const int32_t* chosen, int64_t count, float weight, float* weights) {
  if (count <= 0) return;
  launch_early(stream, "add_weight", add_weight_kernel,
               static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, chosen, count,
               weight, weights);
}

void most_weighted(Stream stream, const PairTask& task) {
  if (task.count <= 0) return;
  launch_early(stream, "most_weighted", most_weighted_kernel, 1, kBlockThreads, 0, task);
}

}  // namespace longhaul::cuda
