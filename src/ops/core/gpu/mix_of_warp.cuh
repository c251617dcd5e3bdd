#pragma once

#include <cuda_runtime.h>

namespace longhaul::cuda {

/// Returns the Hadamard rotation of 32 values, one per lane of a warp. The result is bitwise equal
/// to mix_blocks() of ops/core/convert.h.
__device__ __forceinline__ float mix_of_warp(float x) {
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const float other = __shfl_xor_sync(~0u, x, step);
    x = (threadIdx.x & step) != 0 ? other - x : x + other;
  }
  return __fmul_rn(x, 0.176776695f);
}

}  // namespace longhaul::cuda
