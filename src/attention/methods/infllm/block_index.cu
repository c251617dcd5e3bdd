#include <cuda_runtime.h>

#include "attention/methods/infllm/block_index.gpu.h"
#include "ops/attention/kv_pages.cuh"
#include "ops/core/gpu/over_elements.cuh"
#include "ops/core/gpu/reductions.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kWarps = 4;

/// Returns the part of the dot product of a and b, n elements each, that thread `thread` of
/// `threads` threads computes.
template <int kRun, class T>
__device__ __forceinline__ float part_of_product(const T* a, const float* b, int n, int thread,
                                                 int threads) {
  float sum = 0;
#pragma unroll 2
  for (int i = thread * kRun; i < n; i += threads * kRun) {
    const Run<kRun> x = load_run<kRun>(a + i), y = load_run<kRun>(b + i);
#pragma unroll
    for (int e = 0; e < kRun; ++e) sum = fmaf(x.v[e], y.v[e], sum);
  }
  return sum;
}

/// Computes the score of one block of tokens per thread block. The heads are distributed over its
/// warps.
template <int kRun, class T>
__global__ void __launch_bounds__(32 * kWarps)
    block_scores_kernel(IndexedBlocks index, const float* query, float* scores) {
  __shared__ float of_warps[kWarps];
  await_turn();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int dim = index.head_dim, width = index.heads * dim;
  for (int64_t b = blockIdx.x; b < index.blocks; b += gridDim.x) {
    const T* own = reinterpret_cast<const T*>(index.vectors) + b * index.count * width;
    float sum = 0;
    if (index.count == 1) {
      sum = warp_sum(part_of_product<kRun>(own, query, width, threadIdx.x, 32 * kWarps));
    } else {
      for (int h = warp; h < index.heads; h += kWarps) {
        float best = 0;
        for (int i = 0; i < index.count; ++i) {
          const T* vector = own + (static_cast<int64_t>(h) * index.count + i) * dim;
          const float dot = warp_sum(part_of_product<kRun>(vector, query + h * dim, dim, lane, 32));
          if (i == 0 || dot > best) best = dot;
        }
        sum += best;
      }
    }
    if (lane == 0) of_warps[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < kWarps; ++w) sum += of_warps[w];
      scores[b] = sum;
    }
    __syncthreads();
  }
}

template <class T>
void launch_scores(Stream stream, const IndexedBlocks& index, const float* query, float* scores) {
  const bool runs =
      index.head_dim % 4 == 0 && aligned_to(4 * sizeof(T), index.vectors) && aligned_to(16, query);
  const auto kernel = runs ? block_scores_kernel<4, T> : block_scores_kernel<1, T>;
  launch_early(stream, "block_scores", kernel, blocks_for(index.blocks, 1), 32 * kWarps, 0, index,
               query, scores);
}

}  // namespace

bool block_scores(Stream stream, const IndexedBlocks& index, const float* query, float* scores) {
  if (index.blocks <= 0) return true;
  if (index.type == DType::F32) {
    launch_scores<float>(stream, index, query, scores);
  } else if (index.type == DType::BF16) {
    launch_scores<uint16_t>(stream, index, query, scores);
  } else {
    return false;
  }
  return true;
}

}  // namespace longhaul::cuda
