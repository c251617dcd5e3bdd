#pragma once
// Sums over warps and blocks, in a fixed order, and the largest number of a warp.

namespace longhaul::cuda {

__device__ inline float warp_sum(float x) {
  for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
  return x;
}

__device__ inline float warp_max(float x) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
  return x;
}

inline constexpr int kMostWarps = 32;

/// The sum over a block of whole warps, in every thread; once in a kernel. `sums`: shared memory
/// for kMostWarps numbers.
__device__ inline float block_sum(float x, float* sums) {
  x = warp_sum(x);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  if (warps == 1) return x;
  if (lane == 0) sums[warp] = x;
  __syncthreads();
  return warp_sum(lane < warps ? sums[lane] : 0.0f);
}

}  // namespace longhaul::cuda
