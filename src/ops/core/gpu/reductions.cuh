#pragma once
// Sums and maxima over the threads of a warp or of a thread block, in a fixed order.

#include <cuda_runtime.h>

namespace longhaul::cuda {

/// quad_sum() and quad_max() return the sum and the maximum of x over four consecutive lanes. In
/// the results of mma.sync and wgmma, four consecutive lanes hold one row.
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

__device__ inline float warp_sum(float x) {
#pragma unroll
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

/// Returns the sum (if kSum is true) or the maximum of x over all threads of a thread block to
/// every thread. A kernel may call it several times. `of_warps` is shared memory for one T per
/// warp.
template <bool kSum, class T>
__device__ __forceinline__ T block_result(T x, T* of_warps) {
  const auto add = [](T a, T b) { return kSum ? a + b : max(a, b); };
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = add(x, __shfl_xor_sync(~0u, x, step));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = of_warps[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) x = add(x, of_warps[w]);
  __syncthreads();
  return x;
}

}  // namespace longhaul::cuda
