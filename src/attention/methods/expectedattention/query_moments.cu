// Sums of query rows and of their outer products. As on the host, the mean of the first rows is
// subtracted, 64 rows at a time are summed in f32, and these sums are added in double precision.

#include <cuda_runtime.h>

#include <algorithm>

#include "attention/methods/expectedattention/expected_attention.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/score_vectors.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kRows = 64;      ///< number of rows that are summed in f32
constexpr int kElements = 64;  ///< number of elements of a head per thread block
constexpr int kThreads = 256;  ///< each computes 4 x 4 products
constexpr int kMostDim = 256;

struct MomentArgs {
  const float* q;  ///< [rows, heads, head_dim]
  const float* origin;
  double *sums, *products;  ///< `products` may be null
  int64_t rows;
  int32_t heads, head_dim;
};

/// There is one thread block per 64 x 64 products of a head (y), or per 64 sums if products are not
/// computed.
__global__ void __launch_bounds__(kThreads) moments_kernel(const __grid_constant__ MomentArgs a) {
  __shared__ __align__(16) float left[kRows][kElements], right[kRows][kElements];
  const int tiles = (a.head_dim + kElements - 1) / kElements, head = static_cast<int>(blockIdx.y);
  const bool products = a.products != nullptr;
  const int i0 = static_cast<int>(blockIdx.x) / (products ? tiles : 1) * kElements;
  const int j0 = products ? static_cast<int>(blockIdx.x) % tiles * kElements : 0;
  const int t = static_cast<int>(threadIdx.x), x = t % 16 * 4, y = t / 16 * 4;
  const int64_t stride = int64_t{a.heads} * a.head_dim, of_head = int64_t{head} * a.head_dim;
  double total[4][4] = {}, column = 0;
  const auto load = [&](float(&to)[kRows][kElements], int first, int64_t row) {
    for (int e = t; e < kRows * kElements; e += kThreads) {
      const int r = e / kElements, element = first + e % kElements;
      const bool there = row + r < a.rows && element < a.head_dim;
      to[r][e % kElements] =
          there ? a.q[(row + r) * stride + of_head + element] - a.origin[of_head + element] : 0.0f;
    }
  };
  for (int64_t row = 0; row < a.rows; row += kRows) {
    __syncthreads();
    load(left, i0, row);
    if (products) load(right, j0, row);
    __syncthreads();
    if (j0 == 0 && t < kElements) {
      float sum = 0;
      for (int r = 0; r < kRows; ++r) sum += left[r][t];
      column += static_cast<double>(sum);
    }
    if (!products) continue;
    float sum[4][4] = {};
#pragma unroll 4
    for (int r = 0; r < kRows; ++r) {
      const float4 u = *reinterpret_cast<const float4*>(&left[r][y]);
      const float4 v = *reinterpret_cast<const float4*>(&right[r][x]);
      const float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(us[i], vs[j], sum[i][j]);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) total[i][j] += static_cast<double>(sum[i][j]);
    }
  }
  if (j0 == 0 && t < kElements && i0 + t < a.head_dim) a.sums[of_head + i0 + t] += column;
  if (!products) return;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int row = i0 + y + i, at = j0 + x + j;
      if (row < a.head_dim && at < a.head_dim) {
        a.products[(of_head + row) * a.head_dim + at] += total[i][j];
      }
    }
  }
}

}  // namespace

bool add_query_moments(Stream stream, View<const float> q, int64_t rows, int heads, int head_dim,
                       QueryMoments& moments) {
  if (q.place().host() || head_dim > kMostDim) return false;
  const View<double> sums = moments.sums.view(), products = moments.products.view();
  if (moments.rows == 0) {
    const int64_t width = int64_t{heads} * head_dim;
    mean_rows(stream, q.address(), std::min<int64_t>(rows, kRows), width,
              moments.origin.view().address());
    for (const View<double>& each : {sums, products}) {
      if (each.empty()) continue;
      check(cudaMemsetAsync(each.address(), 0, static_cast<size_t>(each.size()) * sizeof(double),
                            stream),
            "memset");
    }
  }
  const MomentArgs args{q.address(),    moments.origin.view().address(),
                        sums.address(), products.empty() ? nullptr : products.address(),
                        rows,           heads,
                        head_dim};
  const auto tiles = static_cast<unsigned>((head_dim + kElements - 1) / kElements);
  const dim3 grid(products.empty() ? tiles : tiles * tiles, static_cast<unsigned>(heads));
  moments_kernel<<<grid, kThreads, 0, stream>>>(args);
  check_launch("query_moments");
  return true;
}

}  // namespace longhaul::cuda
