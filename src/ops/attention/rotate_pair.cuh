#pragma once
// Rotation of one pair in the rotary embedding, with fixed roundings for all users.

namespace longhaul::cuda {

struct Pair {
  float first, second;
};

__device__ __forceinline__ Pair rotated(Pair x, float cosine, float sine) {
  return {fmaf(x.first, cosine, -__fmul_rn(x.second, sine)),
          fmaf(x.second, cosine, __fmul_rn(x.first, sine))};
}

}  // namespace longhaul::cuda
