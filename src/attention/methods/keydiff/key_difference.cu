#include <cuda_runtime.h>

#include "attention/methods/keydiff/key_difference.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/reductions.cuh"
#include "ops/maps/score_plan.h"
#include "ops/maps/stored_keys.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kStretch = 256;  ///< number of keys per partial sum of directions
constexpr int kWarps = 8;
constexpr int kMostEach = 32;  ///< largest number of elements of a key per lane

/// Each thread block computes the norms of kStretch keys and the sum of their directions, one row
/// of sums [stretches, head_dim].
template <int kEach>
__global__ void __launch_bounds__(32 * kWarps)
    add_directions(StoredRows keys, int64_t count, double* sums, float* lengths) {
  __shared__ double of_warps[kWarps][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t first = int64_t{blockIdx.x} * kStretch;
  const int64_t end = first + kStretch < count ? first + kStretch : count;
  double sum[kEach] = {};
  for (int64_t i = first + warp; i < end; i += kWarps) {
    const std::byte* row = keys.row(i);
    float x[kEach], square = 0;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int t = lane + 32 * e;
      x[e] = t < keys.head_dim ? keys.at(row, t) : 0.0f;
      square = fmaf(x[e], x[e], square);
    }
    square = warp_sum(square);
    const float length = sqrtf(square);
    if (lane == 0) lengths[i] = length;
    const double inverse = length > 1e-12f ? 1.0 / static_cast<double>(length) : 1e12;
#pragma unroll
    for (int e = 0; e < kEach; ++e) sum[e] += static_cast<double>(x[e]) * inverse;
  }
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    of_warps[warp][lane] = sum[e];
    __syncthreads();
    const int t = lane + 32 * e;
    if (warp == 0 && t < keys.head_dim) {
      double all = 0;
      for (int w = 0; w < kWarps; ++w) all += of_warps[w][lane];
      sums[int64_t{blockIdx.x} * keys.head_dim + t] = all;
    }
    __syncthreads();
  }
}

/// Computes anchor [head_dim], the mean direction, and stores its norm behind it. There is one
/// thread block.
__global__ void __launch_bounds__(1024)
    find_anchor(const double* sums, int64_t stretches, int head_dim, int64_t count, float* anchor) {
  __shared__ double squares[1024];
  const int t = static_cast<int>(threadIdx.x);
  double mean = 0;
  if (t < head_dim) {
    for (int64_t s = 0; s < stretches; ++s) mean += sums[s * head_dim + t];
    mean /= static_cast<double>(count);
    anchor[t] = static_cast<float>(mean);
  }
  squares[t] = mean * mean;
  __syncthreads();
  for (int step = 512; step > 0; step /= 2) {
    if (t < step) squares[t] += squares[t + step];
    __syncthreads();
  }
  if (t == 0) anchor[head_dim] = static_cast<float>(sqrt(squares[0]));
}

/// Computes the scores, with one warp per key. Before the call, scores [count] hold the norms of
/// the keys.
__global__ void __launch_bounds__(32 * kWarps)
    compare_keys(StoredRows keys, int64_t count, const float* anchor, float* scores) {
  constexpr float kLeastLength = 1e-8f;  // so that the cosine of a zero vector is zero
  const int64_t i = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (i >= count) return;
  const std::byte* row = keys.row(i);
  float product = 0;
  for (int t = threadIdx.x % 32; t < keys.head_dim; t += 32) {
    product = fmaf(keys.at(row, t), anchor[t], product);
  }
  product = warp_sum(product);
  if (threadIdx.x % 32 != 0) return;
  scores[i] =
      -product / (fmaxf(scores[i], kLeastLength) * fmaxf(anchor[keys.head_dim], kLeastLength));
}

}  // namespace

bool key_difference(Stream stream, const PagedRows& rows, View<float> scores,
                    ScoreScratch& scratch) {
  const int64_t count = scores.size(), stretches = (count + kStretch - 1) / kStretch;
  if (count <= 0) return true;
  if (!can_read(rows) || rows.head_dim > 32 * kMostEach) return false;
  const auto dim = static_cast<size_t>(rows.head_dim);
  auto* const sums = reinterpret_cast<double*>(scratch.room(
      static_cast<size_t>(stretches) * dim * sizeof(double) + (dim + 1) * sizeof(float)));
  auto* const anchor = reinterpret_cast<float*>(sums + static_cast<size_t>(stretches) * dim);
  const StoredRows keys = keys_of(rows);
  const auto directions = rows.head_dim <= 128   ? add_directions<4>
                          : rows.head_dim <= 256 ? add_directions<8>
                                                 : add_directions<kMostEach>;
  directions<<<static_cast<unsigned>(stretches), 32 * kWarps, 0, stream>>>(keys, count, sums,
                                                                           scores.address());
  check_launch("add_directions");
  find_anchor<<<1, 1024, 0, stream>>>(sums, stretches, rows.head_dim, count, anchor);
  check_launch("find_anchor");
  compare_keys<<<static_cast<unsigned>((count + kWarps - 1) / kWarps), 32 * kWarps, 0, stream>>>(
      keys, count, anchor, scores.address());
  check_launch("compare_keys");
  return true;
}

}  // namespace longhaul::cuda
