#include "ops/core/few_families.gpu.h"
#include "ops/core/gpu/over_elements.cuh"
#include "ops/core/gpu/reductions.cuh"

namespace longhaul::cuda {
namespace {

uintptr_t address_of(const void* p) { return reinterpret_cast<uintptr_t>(p); }

/// One thread block per row. Later reads of the row hit the first-level cache.
__global__ void __launch_bounds__(256)
    layer_norm_kernel(const float* x, const float* weight, float eps, int n, float* y) {
  await_turn();
  x += blockIdx.x * static_cast<int64_t>(n);
  y += blockIdx.x * static_cast<int64_t>(n);
  __shared__ float sums[2][kMostWarps];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  const float mean = block_sum(sum, sums[0]) / static_cast<float>(n);
  float squares = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = 1.0f / sqrtf(block_sum(squares, sums[1]) / static_cast<float>(n) + eps);
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = (x[i] - mean) * scale * weight[i];
}

struct SquaredReluOp {
  float* x;
  SquaredReluOp from(int64_t first) const { return {x + first}; }
  template <int kRun>
  __device__ void apply(int64_t, int64_t i) const {
    Run<kRun> run = load_run<kRun>(x + i);
    for (float& v : run.v) v = fmaxf(v, 0.0f) * fmaxf(v, 0.0f);
    store_run(x + i, run);
  }
};

struct XieluOp {
  float* x;
  Xielu of;
  XieluOp from(int64_t first) const { return {x + first, of}; }
  template <int kRun>
  __device__ void apply(int64_t, int64_t i) const {
    Run<kRun> run = load_run<kRun>(x + i);
    for (float& v : run.v) {
      const float bent = v > 0 ? of.alpha_p * v * v : (expm1f(fminf(v, of.eps)) - v) * of.alpha_n;
      v = of.beta * v + bent;
    }
    store_run(x + i, run);
  }
};

struct ColumnsOp {
  const float* from;
  int64_t from_stride;
  float* to;
  int64_t to_stride;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    store_run(to + row * to_stride + col, load_run<kRun>(from + row * from_stride + col));
  }
};

struct TimesColumnsOp {
  const float* factors;
  int64_t width;
  float* x;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    Run<kRun> run = load_run<kRun>(x + row * width + col);
    const Run<kRun> by = load_run<kRun>(factors + col);
    for (int k = 0; k < kRun; ++k) run.v[k] *= by.v[k];
    store_run(x + row * width + col, run);
  }
};

/// One thread block per row.
__global__ void __launch_bounds__(128)
    latent_keys_kernel(LatentKeys shape, const float* products, const float* weight, float* keys) {
  await_turn();
  const int width = shape.rank + shape.rope;
  const float* const x = products + blockIdx.x * static_cast<int64_t>(width);
  float* const y = keys + blockIdx.x * static_cast<int64_t>(width);
  __shared__ float sums[kMostWarps];
  float sum = 0;
  for (int i = threadIdx.x; i < shape.rank; i += blockDim.x) sum += x[i] * x[i];
  const float scale =
      1.0f / sqrtf(block_sum(sum, sums) / static_cast<float>(shape.rank) + shape.eps);
  for (int i = threadIdx.x; i < shape.rope; i += blockDim.x) y[i] = x[shape.rank + i];
  for (int i = threadIdx.x; i < shape.rank; i += blockDim.x) {
    y[shape.rope + i] = x[i] * scale * weight[i];
  }
}

}  // namespace

void layer_norm(Stream stream, const float* x, const float* weight, float eps, int64_t rows,
                int64_t n, float* y) {
  if (rows == 0 || n == 0) return;
  launch_early(stream, "layer_norm", layer_norm_kernel, static_cast<unsigned>(rows), 256, 0, x,
               weight, eps, static_cast<int>(n), y);
}

void activate(Stream stream, Ungated function, const Xielu& xielu, float* x, int64_t count) {
  const bool four = aligned_to(16, address_of(x));
  if (function == Ungated::kXielu) {
    return over_all(stream, "xielu", count, four, XieluOp{x, xielu});
  }
  over_all(stream, "squared_relu", count, four, SquaredReluOp{x});
}

void copy_row_columns(Stream stream, const float* from, int64_t from_stride, float* to,
                      int64_t to_stride, int64_t rows, int64_t count) {
  const bool four = aligned_to(16, address_of(from), address_of(to)) && from_stride % 4 == 0 &&
                    to_stride % 4 == 0;
  over_rows(stream, "copy_row_columns", rows, count, four,
            ColumnsOp{from, from_stride, to, to_stride});
}

void multiply_columns(Stream stream, const float* factors, int64_t width, float* x, int64_t rows) {
  over_rows(stream, "multiply_columns", rows, width,
            aligned_to(16, address_of(factors), address_of(x)), TimesColumnsOp{factors, width, x});
}

void latent_keys(Stream stream, const LatentKeys& shape, const float* products, const float* weight,
                 float* keys) {
  if (shape.rows == 0) return;
  launch_early(stream, "latent_keys", latent_keys_kernel, static_cast<unsigned>(shape.rows), 128, 0,
               shape, products, weight, keys);
}

}  // namespace longhaul::cuda
