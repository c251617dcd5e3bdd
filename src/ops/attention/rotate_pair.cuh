#pragma once
// One pair of the rotary embedding, with the same roundings wherever it is done.

namespace longhaul::cuda {

struct Pair {
  float first, second;
};

__device__ __forceinline__ Pair rotated(Pair x, float cosine, float sine) {
  return {fmaf(x.first, cosine, -__fmul_rn(x.second, sine)),
          fmaf(x.second, cosine, __fmul_rn(x.first, sine))};
}

}  // namespace longhaul::cuda
