#include <cuda_fp8.h>

#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/numbers.h"
#include "ops/core/gpu/reductions.cuh"
#include "ops/matmul/fp8_rows.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;
constexpr float kLargest = 448;
constexpr float kLeast = 1e-30f;  ///< rows with smaller values become zeros

__device__ __forceinline__ float low_of(uint32_t pair) { return bf16_value(pair); }
__device__ __forceinline__ float high_of(uint32_t pair) { return bf16_value(pair >> 16); }

__device__ __forceinline__ float largest_of(float x) {
  __shared__ float of_warps[kThreads / 32];
  x = warp_max(x);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = of_warps[0];
#pragma unroll
  for (int w = 1; w < kThreads / 32; ++w) x = fmaxf(x, of_warps[w]);
  return x;
}

__device__ __forceinline__ uint32_t rounded(uint32_t pair, float factor) {
  const float2 x = make_float2(low_of(pair) * factor, high_of(pair) * factor);
  return __nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, __NV_E4M3);
}

/// One thread block per row. It reads the row twice, the second time from a cache.
__global__ void __launch_bounds__(kThreads)
    round_to_fp8_kernel(const uint16_t* x, int64_t x_stride, int64_t cols, Fp8Rows to) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
  await_turn();
  const int64_t row = blockIdx.x;
  const auto* const from = reinterpret_cast<const uint4*>(x + row * x_stride);
  const auto eights = static_cast<int>(cols / 8);
  float top = 0;
  for (int i = static_cast<int>(threadIdx.x); i < eights; i += kThreads) {
    const uint4 own = from[i];
    for (const uint32_t pair : {own.x, own.y, own.z, own.w}) {
      top = fmaxf(top, fmaxf(fabsf(low_of(pair)), fabsf(high_of(pair))));
    }
  }
  top = largest_of(top);
  const bool any = top > kLeast;
  const float factor = any ? kLargest / top : 1.0f;
  auto* const numbers = reinterpret_cast<uint2*>(to.numbers + row * cols);
  for (int i = static_cast<int>(threadIdx.x); i < eights; i += kThreads) {
    const uint4 own = from[i];
    numbers[i] = make_uint2(rounded(own.x, factor) | rounded(own.y, factor) << 16,
                            rounded(own.z, factor) | rounded(own.w, factor) << 16);
  }
  if (threadIdx.x == 0) to.scales[row] = any ? top / kLargest : 1.0f;
#else
  __trap();
#endif
}

}  // namespace

void round_to_fp8(Stream stream, const uint16_t* x, int64_t x_stride, int64_t rows, int64_t cols,
                  const Fp8Rows& to) {
  if (rows == 0) return;
  launch_early(stream, "round_to_fp8", round_to_fp8_kernel, static_cast<unsigned>(rows), kThreads,
               0, x, x_stride, cols, to);
}

}  // namespace longhaul::cuda
