#pragma once
// Sums over warps and thread blocks in a fixed order, and maxima over warps.

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

/// Returns the sum of x over all threads of a thread block to every thread. The block must consist
/// of whole warps. A kernel may call the function only once. `sums` is shared memory for kMostWarps
/// floats.
__device__ inline float block_sum(float x, float* sums) {
  x = warp_sum(x);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  if (warps == 1) return x;
  if (lane == 0) sums[warp] = x;
  __syncthreads();
  return warp_sum(lane < warps ? sums[lane] : 0.0f);
}

}  // namespace longhaul::cuda
