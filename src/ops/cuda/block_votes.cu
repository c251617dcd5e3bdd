#include <cuda_runtime.h>

#include "ops/cuda/block_votes.h"
#include "ops/cuda/device_error.h"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    add_weight_kernel(const int32_t* chosen, int64_t count, float weight, float* weights) {
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i < count) weights[chosen[i]] += weight;
}

__global__ void __launch_bounds__(kBlockThreads) most_weighted_kernel(PairTask task) {
  __shared__ SelectShared shared;
  select_pairs(CudaBlock{}, shared, task);
}

}  // namespace

void add_weight(Stream stream, const int32_t* chosen, int64_t count, float weight, float* weights) {
  if (count <= 0) return;
  add_weight_kernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0,
                      stream>>>(chosen, count, weight, weights);
  check_launch("add_weight");
}

void most_weighted(Stream stream, const PairTask& task) {
  if (task.count <= 0) return;
  most_weighted_kernel<<<1, kBlockThreads, 0, stream>>>(task);
  check_launch("most_weighted");
}

}  // namespace longhaul::cuda
