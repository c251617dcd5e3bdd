#include <cuda_runtime.h>

#include <cfloat>

#include "attention/methods/ltri/span_scores.gpu.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/numbers.h"

namespace longhaul::cuda {
namespace {

constexpr int kWarps = 8;
/// Number of rows (vectors or sums of vectors) that a warp multiplies at once.
constexpr int kRows = 2;
constexpr int kAtOnce = 4;   ///< number of vectors that are loaded before the first one is added
constexpr int kEach = 4;     ///< number of elements of a vector per thread and step
constexpr int kValues = 32;  ///< largest number of dot products of a warp at once: one per lane
static_assert(kValues <= 32);

/// Loads elements i to i + 3 of a vector and converts them to floats. i is a multiple of 4.
struct VectorF32 {
  using Raw = float4;
  static __device__ __forceinline__ int64_t bytes(int64_t width) { return 4 * width; }
  static __device__ __forceinline__ Raw read(const uint8_t* vector, int i) {
    return *reinterpret_cast<const float4*>(vector + 4 * i);
  }
  static __device__ __forceinline__ float4 numbers(Raw raw, int) { return raw; }
};
struct VectorBF16 {
  using Raw = uint2;
  static __device__ __forceinline__ int64_t bytes(int64_t width) { return 2 * width; }
  static __device__ __forceinline__ Raw read(const uint8_t* vector, int i) {
    return *reinterpret_cast<const uint2*>(vector + 2 * i);
  }
  static __device__ __forceinline__ float4 numbers(Raw raw, int) {
    return {__uint_as_float(raw.x << 16), __uint_as_float(raw.x & 0xffff0000u),
            __uint_as_float(raw.y << 16), __uint_as_float(raw.y & 0xffff0000u)};
  }
};
struct VectorQ4_0 {
  struct Raw {
    /// The 4-bit levels of elements i and i + 1 and of elements i + 16 and i + 17, then those of
    /// the next two elements of both.
    uint16_t scale, first, second;
  };
  static __device__ __forceinline__ int64_t bytes(int64_t width) { return width / 32 * 18; }
  static __device__ __forceinline__ Raw read(const uint8_t* vector, int i) {
    const auto* const block = reinterpret_cast<const uint16_t*>(vector + i / 32 * 18);
    const uint16_t* const levels = block + 1 + i % 16 / 2;
    return {block[0], levels[0], levels[1]};
  }
  static __device__ __forceinline__ float4 numbers(Raw raw, int i) {
    const float scale = half_value(raw.scale);
    const uint32_t levels = (raw.first | uint32_t{raw.second} << 16) >> (i % 32 < 16 ? 0 : 4);
    const auto number = [&](int k) {
      return scale * static_cast<float>(static_cast<int>(levels >> (8 * k) & 15) - 8);
    };
    return {number(0), number(1), number(2), number(3)};
  }
};

/// The rows of a block of tokens: the sums of the vectors of each span, or the single vectors.
struct BlockRows {
  const int32_t* record;
  bool sum;

  __device__ __forceinline__ int count() const {
    return sum || record[0] == 0 ? record[0] : record[record[0]];
  }
  __device__ __forceinline__ int begin(int row) const {
    return !sum ? row : row == 0 ? 0 : record[row];
  }
  __device__ __forceinline__ int end(int row) const { return sum ? record[1 + row] : row + 1; }
};

/// Returns elements i to i + 3 of the sum of vectors [begin, end).
template <class Vector>
__device__ __forceinline__ float4 sum_of_vectors(const SpanTable& index, const uint8_t* vectors,
                                                 int begin, int end, int i) {
  const int64_t bytes = Vector::bytes(index.width);
  float4 x{};
  if (index.common != nullptr) {
    const float4 common = *reinterpret_cast<const float4*>(index.common + i);
    const auto n = static_cast<float>(end - begin);
    x = {n * common.x, n * common.y, n * common.z, n * common.w};
  }
#pragma unroll 1
  for (int v = begin; v < end; v += kAtOnce) {
    typename Vector::Raw raw[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      raw[k] = Vector::read(vectors + min(v + k, end - 1) * bytes, i);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (v + k >= end) continue;
      const float4 y = Vector::numbers(raw[k], i);
      x.x += y.x, x.y += y.y, x.z += y.z, x.w += y.w;
    }
  }
  return x;
}

/// Sums N values over the lanes of a warp. Afterwards, values[0] holds sum n in the lanes from n *
/// 32 / N on.
template <int N>
__device__ __forceinline__ void sum_over_lanes(float (&values)[N]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 16, n = N; step > 0; step /= 2) {
    if (n == 1) {
      values[0] += __shfl_xor_sync(~0u, values[0], step);
      continue;
    }
    n /= 2;
    const bool upper = (lane & step) != 0;
#pragma unroll
    for (int k = 0; k < N / 2; ++k) {
      if (k >= n) break;
      const float give = upper ? values[k] : values[k + n];
      values[k] = (upper ? values[k + n] : values[k]) + __shfl_xor_sync(~0u, give, step);
    }
  }
}

/// Computes the part of the dot products of kRows rows and kQueries queries that belongs to one
/// warp: every `slices`-th run of 128 elements, beginning with run `slice`.
template <class Vector, int kQueries>
__device__ __forceinline__ void multiply(const SpanTable& index, const uint8_t* vectors,
                                         const BlockRows& rows, int first_row, int row_count,
                                         const float* queries, int first_query, int count,
                                         int slice, int slices, float* products) {
  const int width = static_cast<int>(index.width), lane = threadIdx.x % 32;
  float dots[kRows * kQueries] = {};
#pragma unroll 1
  for (int i = kEach * (32 * slice + lane); i < width; i += kEach * 32 * slices) {
    float4 x[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int row = min(first_row + r, row_count - 1);
      x[r] = sum_of_vectors<Vector>(index, vectors, rows.begin(row), rows.end(row), i);
    }
    const float* from = queries + int64_t{first_query} * width + i;
#pragma unroll
    for (int q = 0; q < kQueries; ++q) {
      const float4 y = *reinterpret_cast<const float4*>(from);
      if (first_query + q < count - 1) from += width;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        float& dot = dots[r * kQueries + q];
        dot = fmaf(x[r].x, y.x, fmaf(x[r].y, y.y, fmaf(x[r].z, y.z, fmaf(x[r].w, y.w, dot))));
      }
    }
  }
  sum_over_lanes(dots);
  constexpr int kLanes = 32 / (kRows * kQueries);  // number of lanes with equal sums
  if (lane % kLanes == 0) products[lane / kLanes] = dots[0];
}

/// Computes all dot products of a block's rows and the queries, and calls use(row, query, product)
/// in the thread that has the product. Rows and queries are distributed over groups of warps, and
/// elements over the warps of a group. Missing rows and queries are replaced by the last one.
template <class Vector, int kQueries, class Use>
__device__ __forceinline__ void for_products(const SpanTable& index, const uint8_t* vectors,
                                             const BlockRows& rows, const float* queries, int count,
                                             float (&products)[kWarps][kValues], const Use& use) {
  constexpr int kOfUnit = kRows * kQueries;
  static_assert(kOfUnit <= kValues);
  const int stretches = static_cast<int>((index.width + 32 * kEach - 1) / (32 * kEach));
  int slices = 1;
  while (slices < stretches && slices < kWarps) slices *= 2;
  const int groups = kWarps / slices, warp = threadIdx.x / 32;
  const int row_count = rows.count(), parts = (count + kQueries - 1) / kQueries;
  const int units = (row_count + kRows - 1) / kRows * parts;
  const int t = static_cast<int>(threadIdx.x), group = t / kOfUnit, value = t % kOfUnit;
  for (int first = 0; first < units; first += groups) {
    const int unit = first + warp / slices;
    if (unit < units) {
      multiply<Vector, kQueries>(index, vectors, rows, unit / parts * kRows, row_count, queries,
                                 unit % parts * kQueries, count, warp % slices, slices,
                                 products[warp]);
    }
    __syncthreads();
    if (group < groups && first + group < units) {
      float product = 0;
      for (int s = 0; s < slices; ++s) product += products[group * slices + s][value];
      const int own = first + group;
      use(own / parts * kRows + value / kQueries, own % parts * kQueries + value % kQueries,
          product);
    }
    __syncthreads();
  }
}

/// Returns the maximum of `best` over a thread block, in thread 0.
__device__ __forceinline__ float largest_of_block(float best, float* of_warps) {
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(~0u, best, step);
    best = other > best ? other : best;
  }
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kWarps; ++w) best = of_warps[w] > best ? of_warps[w] : best;
  }
  return best;
}

/// Computes scores, with one thread block per block of tokens. It processes sixteen queries at once
/// for a prompt (four spans in each of four blocks), and two for a generated token.
template <class Vector>
__global__ void __launch_bounds__(32 * kWarps, 2)
    span_scores_kernel(SpanTable index, const float* queries, const int32_t* counted, bool sum,
                       float* scores) {
  __shared__ float products[kWarps][kValues];
  await_turn();
  const BlockRows rows{index.records + blockIdx.x * index.record, sum};
  const uint8_t* const vectors =
      index.vectors + blockIdx.x * index.slots * Vector::bytes(index.width);
  const int count = *counted;
  float best = -FLT_MAX;
  const auto raise = [&](int, int, float product) { best = product > best ? product : best; };
  if (count > 2) {
    for_products<Vector, kValues / kRows>(index, vectors, rows, queries, count, products, raise);
  } else {
    for_products<Vector, 2>(index, vectors, rows, queries, count, products, raise);
  }
  best = largest_of_block(best, products[0]);
  if (threadIdx.x == 0) scores[blockIdx.x] = best;
}

/// Writes all dot products to [blocks, rows, most].
template <class Vector>
__global__ void __launch_bounds__(32 * kWarps, 2)
    span_products_kernel(SpanTable index, const float* queries, const int32_t* counted, bool sum,
                         ProductTable to) {
  __shared__ float products[kWarps][kValues];
  await_turn();
  const BlockRows rows{index.records + blockIdx.x * index.record, sum};
  const uint8_t* const vectors =
      index.vectors + blockIdx.x * index.slots * Vector::bytes(index.width);
  const int count = *counted, row_count = rows.count();
  float* const own = to.products + blockIdx.x * to.rows * to.most;
  const auto write = [&](int row, int query, float product) {
    if (row < row_count && query < count) own[row * to.most + query] = product;
  };
  if (count > 2) {
    for_products<Vector, kValues / kRows>(index, vectors, rows, queries, count, products, write);
  } else {
    for_products<Vector, 2>(index, vectors, rows, queries, count, products, write);
  }
}

__global__ void __launch_bounds__(32 * kWarps)
    best_products_kernel(SpanTable index, const int32_t* counted, bool sum, ProductTable from,
                         float* scores) {
  __shared__ float of_warps[kWarps];
  await_turn();
  const BlockRows rows{index.records + blockIdx.x * index.record, sum};
  const int count = *counted, values = rows.count() * count;
  const float* const own = from.products + blockIdx.x * from.rows * from.most;
  float best = -FLT_MAX;
  for (int i = static_cast<int>(threadIdx.x); i < values; i += 32 * kWarps) {
    const float product = own[i / count * from.most + i % count];
    best = product > best ? product : best;
  }
  best = largest_of_block(best, of_warps);
  if (threadIdx.x == 0) scores[blockIdx.x] = best;
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
  if (index.width % kEach != 0) return false;
  const auto launch = [&](auto kernel) {
    launch_early(stream, "span_scores", kernel, static_cast<unsigned>(index.blocks), 32 * kWarps, 0,
                 index, queries, count, sum, scores);
    return true;
  };
  if (index.type == DType::F32) return launch(span_scores_kernel<VectorF32>);
  if (index.type == DType::BF16) return launch(span_scores_kernel<VectorBF16>);
  if (index.type == DType::Q4_0) return launch(span_scores_kernel<VectorQ4_0>);
  return false;
}

bool span_products(Stream stream, const SpanTable& index, const float* queries,
                   const int32_t* count, bool sum, const ProductTable& products) {
  if (index.blocks <= 0) return true;
  if (index.width % kEach != 0) return false;
  const auto launch = [&](auto kernel) {
    launch_early(stream, "span_products", kernel, static_cast<unsigned>(index.blocks), 32 * kWarps,
                 0, index, queries, count, sum, products);
    return true;
  };
  if (index.type == DType::F32) return launch(span_products_kernel<VectorF32>);
  if (index.type == DType::BF16) return launch(span_products_kernel<VectorBF16>);
  if (index.type == DType::Q4_0) return launch(span_products_kernel<VectorQ4_0>);
  return false;
}

void best_products(Stream stream, const SpanTable& index, const int32_t* count, bool sum,
                   const ProductTable& products, float* scores) {
  if (index.blocks <= 0) return;
  launch_early(stream, "best_products", best_products_kernel, static_cast<unsigned>(index.blocks),
               32 * kWarps, 0, index, count, sum, products, scores);
}

}  // namespace longhaul::cuda
