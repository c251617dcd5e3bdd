#include "base/assert.h"
#include "ops/core/gpu/over_elements.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/core/rms_norm.gpu.h"
#include "ops/matmul/product_rows.cuh"

namespace longhaul::cuda {
namespace {

template <int kRun>
__device__ float sum_of_squares(const float* x, int n, int first, int step) {
  float sum = 0;
  for (int i = first * kRun; i < n; i += step * kRun) {
    const Run<kRun> run = load_run<kRun>(x + i);
    for (const float v : run.v) sum += v * v;
  }
  return sum;
}

template <int kRun, class Out>
__device__ void scale_row(const float* x, const float* weight, float scale, int n, int first,
                          int step, Out* y) {
  for (int i = first * kRun; i < n; i += step * kRun) {
    Run<kRun> run = load_run<kRun>(x + i);
    const Run<kRun> w = load_run<kRun>(weight + i);
    for (int k = 0; k < kRun; ++k) run.v[k] = run.v[k] * scale * w.v[k];
    store_run(y + i, run);
  }
}

/// One thread block per row. The second read of the row hits the first-level cache.
template <int kRun, class Out>
__global__ void __launch_bounds__(1024)
    rms_norm_kernel(const float* x, int64_t stride, const float* weight, float eps, int n, Out* y) {
  await_turn();
  x += blockIdx.x * stride;
  y += blockIdx.x * static_cast<int64_t>(n);
  __shared__ float sums[kMostWarps];
  const float sum = block_sum(sum_of_squares<kRun>(x, n, threadIdx.x, blockDim.x), sums);
  const float scale = 1.0f / sqrtf(sum / static_cast<float>(n) + eps);
  scale_row<kRun>(x, weight, scale, n, threadIdx.x, blockDim.x, y);
}

/// Like rms_norm_kernel, for all forms that products read.
__global__ void __launch_bounds__(1024)
    rms_norm_forms_kernel(const float* x, int64_t stride, const float* weight, float eps, int n,
                          ProductRows y) {
  await_turn();
  x += blockIdx.x * stride;
  __shared__ float sums[kMostWarps];
  const float sum = block_sum(sum_of_squares<4>(x, n, threadIdx.x, blockDim.x), sums);
  const float scale = 1.0f / sqrtf(sum / static_cast<float>(n) + eps);
  const int lane = threadIdx.x % 32;
  for (int first = 4 * (threadIdx.x - lane); first < n; first += 4 * blockDim.x) {
    const int col = first + 4 * lane;
    Run<4> run{};
    if (col < n) {
      run = load_run<4>(x + col);
      const Run<4> w = load_run<4>(weight + col);
      for (int k = 0; k < 4; ++k) run.v[k] = run.v[k] * scale * w.v[k];
    }
    write_rows(y, blockIdx.x, col, {run.v[0], run.v[1], run.v[2], run.v[3]}, col < n);
  }
}

template <int kRun>
__global__ void __launch_bounds__(1024)
    add_rms_norm_kernel(const float* y, const float* weight, float eps, float scale, int n,
                        float* x) {
  y += blockIdx.x * static_cast<int64_t>(n);
  x += blockIdx.x * static_cast<int64_t>(n);
  __shared__ float sums[kMostWarps];
  const float sum = block_sum(sum_of_squares<kRun>(y, n, threadIdx.x, blockDim.x), sums);
  const float inverse = 1.0f / sqrtf(sum / static_cast<float>(n) + eps);
  for (int i = threadIdx.x * kRun; i < n; i += blockDim.x * kRun) {
    const Run<kRun> more = load_run<kRun>(y + i), w = load_run<kRun>(weight + i);
    Run<kRun> all = load_run<kRun>(x + i);
    for (int k = 0; k < kRun; ++k) all.v[k] += scale * (more.v[k] * inverse * w.v[k]);
    store_run(x + i, all);
  }
}

/// One warp per head.
template <int kRun>
__global__ void __launch_bounds__(256)
    rms_norm_heads_kernel(float* x, const float* weight, float eps, int64_t vectors, int heads,
                          int head_dim, int64_t stride) {
  const int64_t vector = blockIdx.x * static_cast<int64_t>(blockDim.y) + threadIdx.y;
  if (vector >= vectors) return;
  x += vector / heads * stride + vector % heads * head_dim;
  const float sum = warp_sum(sum_of_squares<kRun>(x, head_dim, threadIdx.x, 32));
  const float scale = 1.0f / sqrtf(sum / static_cast<float>(head_dim) + eps);
  scale_row<kRun>(x, weight, scale, head_dim, threadIdx.x, 32, x);
}

uintptr_t at(const void* p) { return reinterpret_cast<uintptr_t>(p); }

unsigned threads_for(int64_t n, bool four) {
  const int64_t per_thread = four ? 8 : 4;  // elements: two loads hide the latency
  unsigned threads = 32;
  while (threads < 1024 && threads * per_thread < n) threads *= 2;
  return threads;
}

template <class Out>
void any_rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
                  int64_t rows, int64_t n, Out* y) {
  if (rows == 0 || n == 0) return;
  const bool four = aligned_to(16, at(x), at(weight)) && aligned_to(4 * sizeof(Out), at(y)) &&
                    stride % 4 == 0 && n % 4 == 0;
  const auto kernel = four ? rms_norm_kernel<4, Out> : rms_norm_kernel<1, Out>;
  launch_early(stream, "rms_norm", kernel, static_cast<unsigned>(rows), threads_for(n, four), 0, x,
               stride, weight, eps, static_cast<int>(n), y);
}

}  // namespace

void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, float* y) {
  any_rms_norm(stream, x, stride, weight, eps, rows, n, y);
}

void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, uint16_t* y) {
  any_rms_norm(stream, x, stride, weight, eps, rows, n, y);
}

void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, const ProductRows& y) {
  LH_ASSERT(n == 16 * y.int8.groups && n % 32 == 0 && stride % 4 == 0);
  LH_ASSERT(aligned_to(16, at(x), at(weight), at(y.bf16)));
  if (rows == 0 || n == 0) return;
  launch_early(stream, "rms_norm", rms_norm_forms_kernel, static_cast<unsigned>(rows),
               threads_for(n, true), 0, x, stride, weight, eps, static_cast<int>(n), y);
}

void add_rms_norm(Stream stream, const float* y, const float* weight, float eps, float scale,
                  int64_t rows, int64_t n, float* x) {
  if (rows == 0 || n == 0) return;
  const bool four = aligned_to(16, at(y), at(weight), at(x)) && n % 4 == 0;
  const auto kernel = four ? add_rms_norm_kernel<4> : add_rms_norm_kernel<1>;
  kernel<<<static_cast<unsigned>(rows), threads_for(n, four), 0, stream>>>(y, weight, eps, scale,
                                                                           static_cast<int>(n), x);
  check_launch("add_rms_norm");
}

void rms_norm_heads(Stream stream, float* x, const float* weight, float eps, int64_t tokens,
                    int heads, int head_dim, int64_t stride) {
  const int64_t vectors = tokens * heads;
  if (vectors == 0 || head_dim == 0) return;
  const bool four = aligned_to(16, at(x), at(weight)) && stride % 4 == 0 && head_dim % 4 == 0;
  const auto kernel = four ? rms_norm_heads_kernel<4> : rms_norm_heads_kernel<1>;
  kernel<<<static_cast<unsigned>((vectors + 7) / 8), dim3(32, 8), 0, stream>>>(
      x, weight, eps, vectors, heads, head_dim, stride);
  check_launch("rms_norm_heads");
}

}  // namespace longhaul::cuda
