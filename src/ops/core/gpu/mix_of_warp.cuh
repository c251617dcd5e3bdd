#pragma once

#include <cuda_runtime.h>

namespace longhaul::cuda {

/// Hadamard-rotates 32 values, one per lane of a warp, bitwise equal to ops/core/convert.h.
__device__ __forceinline__ float mix_of_warp(float x) {
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const float other = __shfl_xor_sync(~0u, x, step);
    x = (threadIdx.x & step) != 0 ? other - x : x + other;
  }
  return __fmul_rn(x, 0.176776695f);
}

}  // namespace longhaul::cuda
