#pragma once
// Rotates one pair of elements in the rotary embedding. All kernels use this function, so that they
// round equally.

namespace longhaul::cuda {

struct Pair {
  float first, second;
};

__device__ __forceinline__ Pair rotated(Pair x, float cosine, float sine) {
  return {fmaf(x.first, cosine, -__fmul_rn(x.second, sine)),
          fmaf(x.second, cosine, __fmul_rn(x.first, sine))};
}

}  // namespace longhaul::cuda
