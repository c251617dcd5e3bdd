#include <cuda_runtime.h>

#include <cfloat>

#include "ops/cuda/device_error.h"
#include "ops/cuda/numbers.h"
#include "ops/cuda/span_scores.h"

namespace longhaul::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kQueries = 8;  ///< that a warp multiplies at once

struct VectorF32 {
  static __device__ __forceinline__ int64_t bytes(int64_t width) { return 4 * width; }
  static __device__ __forceinline__ float at(const uint8_t* vector, int i) {
    return reinterpret_cast<const float*>(vector)[i];
  }
};
struct VectorBF16 {
  static __device__ __forceinline__ int64_t bytes(int64_t width) { return 2 * width; }
  static __device__ __forceinline__ float at(const uint8_t* vector, int i) {
    return bf16_value(reinterpret_cast<const uint16_t*>(vector)[i]);
  }
};
struct VectorQ4_0 {
  static __device__ __forceinline__ int64_t bytes(int64_t width) { return width / 32 * 18; }
  static __device__ __forceinline__ float at(const uint8_t* vector, int i) {
    const uint8_t* const block = vector + i / 32 * 18;
    const int in = i % 32;
    const int level = block[2 + in % 16] >> (in < 16 ? 0 : 4) & 15;
    return half_value(*reinterpret_cast<const uint16_t*>(block)) * static_cast<float>(level - 8);
  }
};

/// The largest, over the queries from `first` on that there are, of <query, x>, where element i of
/// x is at(i).
template <class At>
__device__ __forceinline__ float best_product(const float* queries, int first, int count, int width,
                                              At&& at) {
  float dots[kQueries] = {};
  const float* from[kQueries];
#pragma unroll
  for (int q = 0; q < kQueries; ++q) {
    from[q] = queries + static_cast<int64_t>(min(first + q, count - 1)) * width;
  }
  for (int i = threadIdx.x % 32; i < width; i += 32) {
    const float x = at(i);
#pragma unroll
    for (int q = 0; q < kQueries; ++q) dots[q] = fmaf(x, from[q][i], dots[q]);
  }
  float best = -FLT_MAX;
#pragma unroll
  for (int q = 0; q < kQueries; ++q) {
    for (int step = 16; step > 0; step /= 2) {
      dots[q] += __shfl_xor_sync(~0u, dots[q], step);
    }
    best = dots[q] > best ? dots[q] : best;
  }
  return best;
}

/// A block of threads for every block of tokens; its warps take spans and queries in turn.
template <class Vector>
__global__ void __launch_bounds__(32 * kWarps, 2)
    span_scores_kernel(SpanTable index, const float* queries, const int32_t* counted, bool sum,
                       float* scores) {
  __shared__ float of_warps[kWarps];
  const int warp = threadIdx.x / 32;
  const int32_t* const record = index.records + blockIdx.x * index.record;
  const int64_t bytes = Vector::bytes(index.width);
  const uint8_t* const vectors = index.vectors + blockIdx.x * index.slots * bytes;
  const int width = static_cast<int>(index.width), count = *counted;
  const int parts = (count + kQueries - 1) / kQueries;
  float best = -FLT_MAX;
  for (int unit = warp; unit < record[0] * parts; unit += kWarps) {
    const int span = unit / parts, first = unit % parts * kQueries;
    const int begin = span == 0 ? 0 : record[span], end = record[1 + span];
    const auto common = [&](int i) { return index.common == nullptr ? 0.0f : index.common[i]; };
    if (sum) {
      const float product = best_product(queries, first, count, width, [&](int i) {
        float x = static_cast<float>(end - begin) * common(i);
        for (int v = begin; v < end; ++v) x += Vector::at(vectors + v * bytes, i);
        return x;
      });
      best = product > best ? product : best;
      continue;
    }
    for (int v = begin; v < end; ++v) {
      const uint8_t* const vector = vectors + v * bytes;
      const float product = best_product(queries, first, count, width,
                                         [&](int i) { return Vector::at(vector, i) + common(i); });
      best = product > best ? product : best;
    }
  }
  if (threadIdx.x % 32 == 0) of_warps[warp] = best;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kWarps; ++w) best = of_warps[w] > best ? of_warps[w] : best;
  scores[blockIdx.x] = best;
}

__global__ void __launch_bounds__(256)
    subtract_row_kernel(const float* row, int64_t width, float* rows, int64_t count) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < count) rows[i] -= row[i % width];
}

}  // namespace

void subtract_row(Stream stream, const float* row, int64_t width, float* rows, int64_t count) {
  if (count <= 0) return;
  subtract_row_kernel<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(row, width,
                                                                                      rows, count);
  check_launch("subtract_row");
}

bool span_scores(Stream stream, const SpanTable& index, const float* queries, const int32_t* count,
                 bool sum, float* scores) {
  if (index.blocks <= 0) return true;
  const auto launch = [&](auto kernel) {
    kernel<<<static_cast<unsigned>(index.blocks), 32 * kWarps, 0, stream>>>(index, queries, count,
                                                                            sum, scores);
    check_launch("span_scores");
    return true;
  };
  if (index.type == DType::F32) return launch(span_scores_kernel<VectorF32>);
  if (index.type == DType::BF16) return launch(span_scores_kernel<VectorBF16>);
  if (index.type == DType::Q4_0) return launch(span_scores_kernel<VectorQ4_0>);
  return false;
}

}  // namespace longhaul::cuda
