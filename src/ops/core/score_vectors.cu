#include <cuda_runtime.h>

#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/core/score_vectors.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;

unsigned blocks_of(int64_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}
__device__ __forceinline__ int64_t own_number() {
  return blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
}

constexpr int kColumns = 32, kRowGroups = 32;

/// One thread block per 32 columns. Its groups of threads handle rows in turn.
__global__ void __launch_bounds__(kColumns* kRowGroups)
    mean_rows_kernel(const float* x, int64_t rows, int64_t stride, int64_t width, float* out) {
  __shared__ float sums[kRowGroups][kColumns];
  await_turn();
  const int64_t column = blockIdx.x * int64_t{kColumns} + threadIdx.x;
  float sum = 0;
  if (column < width) {
    for (int64_t r = threadIdx.y; r < rows; r += kRowGroups) sum += x[r * stride + column];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= width) return;
  for (int g = 1; g < kRowGroups; ++g) sum += sums[g][threadIdx.x];
  out[column] = sum / static_cast<float>(rows);
}

void mean_columns(Stream stream, const float* x, int64_t rows, int64_t stride, int64_t width,
                  float* out) {
  if (width <= 0) return;
  launch_early(stream, "mean_rows", mean_rows_kernel,
               static_cast<unsigned>((width + kColumns - 1) / kColumns), dim3(kColumns, kRowGroups),
               0, x, rows, stride, width, out);
}

__global__ void __launch_bounds__(kThreads)
    pool_kernel(const float* scores, int64_t count, int width, bool largest, float* out) {
  const int64_t i = own_number(), reach = width / 2;
  if (i >= count) return;
  const int64_t first = i < reach ? 0 : i - reach;
  const int64_t last = i + reach + 1 < count ? i + reach + 1 : count;
  float result = largest ? scores[first] : 0.0f;
  for (int64_t n = first; n < last; ++n) {
    const float x = scores[n];
    result = !largest ? result + x : result < x ? x : result;
  }
  out[i] = largest ? result : result / static_cast<float>(width);
}

__global__ void __launch_bounds__(kThreads)
    transposed_kernel(const float* x, int64_t rows, int64_t columns, float* to) {
  await_turn();
  const int64_t i = own_number();
  if (i < rows * columns) to[i] += x[i % rows * columns + i / rows];
}

/// One warp per block of keys.
__global__ void __launch_bounds__(kThreads)
    mean_scores_kernel(const float* query, const float* means, int64_t blocks, int head_dim,
                       float scale, float* scores) {
  const int64_t b = own_number() / 32;
  if (b >= blocks) return;
  float sum = 0;
  for (int t = threadIdx.x % 32; t < head_dim; t += 32) sum += query[t] * means[b * head_dim + t];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) scores[b] = scale * sum;
}

__global__ void __launch_bounds__(1024) softmax_kernel(float* scores, int64_t count) {
  __shared__ float of_warps[32];
  float top = -INFINITY, sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += 1024) top = fmaxf(top, scores[i]);
  top = block_result<false>(top, of_warps);
  for (int64_t i = threadIdx.x; i < count; i += 1024) {
    const float x = expf(scores[i] - top);
    scores[i] = x;
    sum += x;
  }
  sum = block_result<true>(sum, of_warps);
  for (int64_t i = threadIdx.x; i < count; i += 1024) scores[i] /= sum;
}

}  // namespace

void mean_rows(Stream stream, const float* x, int64_t rows, int64_t width, float* out) {
  mean_columns(stream, x, rows, width, width, out);
}

void mean_query(Stream stream, const float* q, int heads, int head_dim, int head, int64_t begin,
                int64_t end, float* out) {
  const int64_t stride = int64_t{heads} * head_dim;
  mean_columns(stream, q + begin * stride + int64_t{head} * head_dim, end - begin, stride, head_dim,
               out);
}

void pool_scores(Stream stream, const float* scores, int64_t count, int width, bool largest,
                 float* out) {
  if (count <= 0) return;
  pool_kernel<<<blocks_of(count), kThreads, 0, stream>>>(scores, count, width, largest, out);
  check_launch("pool_scores");
}

void add_transposed(Stream stream, const float* x, int64_t rows, int64_t columns, float* to) {
  if (rows * columns <= 0) return;
  launch_early(stream, "add_transposed", transposed_kernel, blocks_of(rows * columns), kThreads, 0,
               x, rows, columns, to);
}

void mean_scores(Stream stream, const float* query, const float* means, int64_t blocks,
                 int head_dim, float scale, float* scores) {
  if (blocks <= 0) return;
  mean_scores_kernel<<<blocks_of(32 * blocks), kThreads, 0, stream>>>(query, means, blocks,
                                                                      head_dim, scale, scores);
  check_launch("mean_scores");
}

void softmax_of(Stream stream, float* scores, int64_t count) {
  if (count <= 0) return;
  softmax_kernel<<<1, 1024, 0, stream>>>(scores, count);
  check_launch("softmax_of");
}

}  // namespace longhaul::cuda
