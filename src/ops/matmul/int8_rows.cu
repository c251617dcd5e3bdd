#include "base/assert.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/kernel_views.cuh"
#include "ops/core/gpu/over_elements.cuh"
#include "ops/matmul/product_rows.cuh"

namespace longhaul::cuda {
namespace {

template <int kRun, class In>
__device__ float4 load_four(const In* x) {
  float v[4];
#pragma unroll
  for (int i = 0; i < 4; i += kRun) {
    const Run<kRun> run = load_run<kRun>(x + i);
#pragma unroll
    for (int k = 0; k < kRun; ++k) v[i + k] = run.v[k];
  }
  return {v[0], v[1], v[2], v[3]};
}

template <int kRun, class In>
__global__ void __launch_bounds__(256)
    round_kernel(const In* x, int64_t cols, int64_t stride, Int8Rows to) {
  await_turn();
  const int64_t row = blockIdx.y;
  const int col = 4 * static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const bool present = col < cols;
  float4 v = {0, 0, 0, 0};
  if (present) v = load_four<kRun>(x + row * stride + col);
  write_int8(to, row, col, v, present);
}

template <class In>
void round_any(Stream stream, const In* x, int64_t rows, int64_t cols, int64_t stride,
               const Int8Rows& to) {
  LH_ASSERT(cols % 32 == 0 && rows < 65536);
  if (rows == 0 || cols == 0) return;
  const bool four = aligned_to(4 * sizeof(In), reinterpret_cast<uintptr_t>(x)) && stride % 4 == 0;
  const dim3 grid(static_cast<unsigned>((cols / 4 + 255) / 256), static_cast<unsigned>(rows));
  launch_early(stream, "round_to_int8", four ? round_kernel<4, In> : round_kernel<1, In>, grid, 256,
               0, x, cols, stride, to);
}

}  // namespace

void round_to_int8(Stream stream, const float* x, int64_t rows, int64_t cols, int64_t stride,
                   const Int8Rows& to) {
  round_any(stream, x, rows, cols, stride, to);
}

void round_to_int8(Stream stream, const uint16_t* x, int64_t rows, int64_t cols, int64_t stride,
                   const Int8Rows& to) {
  round_any(stream, x, rows, cols, stride, to);
}

}  // namespace longhaul::cuda
