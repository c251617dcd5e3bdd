#pragma once
// Applies RoPE to one pair of elements. All kernels use this function, so that they all round in
// the same way.

namespace longhaul::cuda {

struct Pair {
  float first, second;
};

__device__ __forceinline__ Pair rotated(Pair x, float cosine, float sine) {
  return {fmaf(x.first, cosine, -__fmul_rn(x.second, sine)),
          fmaf(x.second, cosine, __fmul_rn(x.first, sine))};
}

}  // namespace longhaul::cuda
