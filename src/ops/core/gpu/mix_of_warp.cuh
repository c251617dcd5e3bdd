#pragma once

#include <cuda_runtime.h>

namespace longhaul::cuda {

/// Returns the Walsh-Hadamard transform of 32 numbers, one per lane of a warp. It is bitwise equal
/// to the result of mix_blocks() of ops/core/convert.h.
__device__ __forceinline__ float mix_of_warp(float x) {
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const float other = __shfl_xor_sync(~0u, x, step);
    x = (threadIdx.x & step) != 0 ? other - x : x + other;
  }
  return __fmul_rn(x, 0.176776695f);
}

}  // namespace longhaul::cuda
