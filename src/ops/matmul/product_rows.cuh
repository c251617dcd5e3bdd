#pragma once
// Writes rows in the formats that matrix products read. Eight neighbouring lanes hold a block of 32
// elements, four elements each.

#include <cuda_runtime.h>

#include "ops/matmul/int8_rows.gpu.h"

namespace longhaul::cuda {

__device__ __forceinline__ int rounded_int8(float x, float inverse) {
  return static_cast<int>(bits_of(__fadd_rn(__fmul_rn(x, inverse), 12582912.0f)) - 0x4b400000u);
}

/// Four elements in int8, and the factors of their group of 16.
struct RoundedFour {
  uint32_t q;
  GroupFactors group;
};

/// Rounds four elements to int8. All lanes of the warp must call it. Lanes without elements pass
/// zeros.
__device__ __forceinline__ RoundedFour round_four(float4 v) {
  float amax = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
#pragma unroll
  for (int d = 4; d > 0; d /= 2) amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, d));
  const float inverse = amax > 1e-36f ? __fdiv_rn(127.0f, amax) : 0.0f;
  const int q0 = rounded_int8(v.x, inverse), q1 = rounded_int8(v.y, inverse);
  const int q2 = rounded_int8(v.z, inverse), q3 = rounded_int8(v.w, inverse);
  int sum = q0 + q1 + q2 + q3;
#pragma unroll
  for (int d = 2; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float scale = __fdiv_rn(amax, 127.0f);
  const int word = (q0 & 255) | (q1 & 255) << 8 | (q2 & 255) << 16 | q3 << 24;
  return {static_cast<uint32_t>(word), {scale, __fmul_rn(scale, static_cast<float>(sum))}};
}

/// Writes columns col to col + 3 of `row`. col is a multiple of 4. All lanes of the warp must call
/// it. A lane that has nothing to write passes zeros and `present` = false.
__device__ __forceinline__ void write_int8(const Int8Rows& to, int64_t row, int col, float4 v,
                                           bool present) {
  const RoundedFour four = round_four(v);
  if (!present) return;
  const int64_t at = row * to.groups + col / 16;
  to.q[at].w[col / 4 % 4] = four.q;
  if (col % 16 == 0) to.factors[at] = four.group;
}

/// Like write_int8(), but writes all formats of `to`.
__device__ __forceinline__ void write_rows(const ProductRows& to, int64_t row, int col, float4 v,
                                           bool present) {
  if (present) {
    const uint2 pairs = {two_bf16(v.x, v.y), two_bf16(v.z, v.w)};
    *reinterpret_cast<uint2*>(to.bf16 + row * to.int8.groups * 16 + col) = pairs;
  }
  write_int8(to.int8, row, col, v, present);
}

}  // namespace longhaul::cuda
