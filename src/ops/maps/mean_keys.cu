#include <cuda_runtime.h>

#include "ops/core/gpu/device_error.gpu.h"
#include "ops/maps/maps.gpu.h"
#include "ops/maps/score_plan.h"
#include "ops/maps/stored_keys.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kMeanGroups = 4;  ///< groups of 128 threads; each adds every fourth key of a block

/// One thread block per block of keys. With a single group, whose threads add 128 keys
/// sequentially, 65,536 keys took 63 us, mostly spent waiting for loads.
__global__ void __launch_bounds__(128 * kMeanGroups, 2)
    mean_keys_kernel(StoredRows keys, int64_t count, int block, float* out) {
  __shared__ float sums[kMeanGroups][128];
  const int64_t first = int64_t{blockIdx.x} * block;
  const int64_t end = first + block < count ? first + block : count;
  const int lane = static_cast<int>(threadIdx.x % 128), group = static_cast<int>(threadIdx.x / 128);
  for (int begin = 0; begin < keys.head_dim; begin += 128) {
    const int t = begin + lane;
    float sum = 0;
    if (t < keys.head_dim) {
#pragma unroll 8
      for (int64_t i = first + group; i < end; i += kMeanGroups) sum += keys.at(keys.row(i), t);
    }
    sums[group][lane] = sum;
    __syncthreads();
    if (group == 0 && t < keys.head_dim) {
      for (int g = 1; g < kMeanGroups; ++g) sum += sums[g][lane];
      out[int64_t{blockIdx.x} * keys.head_dim + t] = sum * (1.0f / static_cast<float>(end - first));
    }
    __syncthreads();
  }
}

}  // namespace

bool mean_keys(Stream stream, const PagedRows& rows, int64_t count, int block, View<float> out) {
  if (count <= 0) return true;
  if (!can_read(rows) || out.place().host()) return false;
  mean_keys_kernel<<<static_cast<unsigned>((count + block - 1) / block), 128 * kMeanGroups, 0,
                     stream>>>(keys_of(rows), count, block, out.address());
  check_launch("mean_keys");
  return true;
}

}  // namespace longhaul::cuda
