// Merges the partial results of units that were split by keys into rows of `out`, in the order of
// the parts. With few parts a warp merges a row. With many parts a thread block does: its groups of
// threads take parts in turn, and load a row's elements by 16 bytes.

#include "ops/attention/attend.gpu.h"
#include "ops/attention/row_place.cuh"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/mma.cuh"
#include "ops/core/gpu/reductions.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostParts = 1024;  ///< limit used by attend_plan.cc

__global__ void __launch_bounds__(kThreads)
    merge_parts(const __grid_constant__ AttendArgs a, const MergeRecord* merges, int head_dim) {
  __shared__ float weights[kMostParts], of_warps[kThreads / 32];
  __shared__ float4 sums[kThreads];
  await_turn();
  const MergeRecord merge = merges[blockIdx.y];
  const int flat = merge.row_count * merge.head_count, f = static_cast<int>(blockIdx.x);
  if (f >= flat) return;
  const int64_t stride = part_floats(flat, head_dim);
  const float* first = a.partial + merge.partial;
  const float* tops = first + static_cast<int64_t>(flat) * head_dim + f;
  float top = -INFINITY;
  for (int p = threadIdx.x; p < merge.parts; p += kThreads) {
    weights[p] = tops[p * stride];
    top = fmaxf(top, weights[p]);
  }
  top = block_result<false>(top, of_warps);
  float sum = 0;
  for (int p = threadIdx.x; p < merge.parts; p += kThreads) {
    weights[p] = weights[p] == -INFINITY ? 0.0f : exp2_of(weights[p] - top);
    sum += weights[p] * tops[p * stride + flat];
  }
  sum = block_result<true>(sum, of_warps);
  const int head = merge.head_begin + f % merge.head_count;
  const int64_t row = merge.row_begin + f / merge.head_count, at = row * a.heads + head;
  const float factor = end_row(sink_of(a, head), top, sum);
  for (int p = threadIdx.x; p < merge.parts; p += kThreads) weights[p] *= factor;
  if (threadIdx.x == 0 && blockIdx.z == 0 && a.lse != nullptr) a.lse[at] = natural_lse(top, sum);
  __syncthreads();
  const int columns = head_dim / 4 / static_cast<int>(gridDim.z), groups = kThreads / columns;
  const int group = threadIdx.x / columns, own = threadIdx.x % columns;
  const int column = static_cast<int>(blockIdx.z) * columns + own;
  float4 o = {0, 0, 0, 0};
  if (group < groups) {
    const float* x = first + static_cast<int64_t>(f) * head_dim + 4 * column;
#pragma unroll 8
    for (int p = group; p < merge.parts; p += groups) {
      const float4 part = *reinterpret_cast<const float4*>(x + p * stride);
      const float weight = weights[p];
      o.x += weight * part.x, o.y += weight * part.y;
      o.z += weight * part.z, o.w += weight * part.w;
    }
  }
  sums[threadIdx.x] = o;
  __syncthreads();
  if (group != 0) return;
  for (int g = 1; g < groups; ++g) {
    const float4 x = sums[g * columns + own];
    o.x += x.x, o.y += x.y, o.z += x.z, o.w += x.w;
  }
  reinterpret_cast<float4*>(a.out + at * head_dim)[column] = o;
}

constexpr int kDecodeParts = 32;  ///< one part per lane
constexpr int kRowsOfBlock = kThreads / 32;

/// One warp per row: with a thread block per row, 8,192 rows of two parts took 28 us.
__global__ void __launch_bounds__(kThreads)
    merge_decode_parts(const __grid_constant__ AttendArgs a, const MergeRecord* merges,
                       int head_dim) {
  await_turn();
  const MergeRecord merge = merges[blockIdx.y];
  const int lane = static_cast<int>(threadIdx.x % 32), flat = merge.row_count * merge.head_count;
  const int f = static_cast<int>(blockIdx.x * kRowsOfBlock + threadIdx.x / 32);
  if (f >= flat) return;
  const int64_t stride = part_floats(flat, head_dim);
  const float* const first = a.partial + merge.partial;
  const float* const tops = first + static_cast<int64_t>(flat) * head_dim + f;
  const float own = lane < merge.parts ? tops[lane * stride] : -INFINITY;
  const float denominator = lane < merge.parts ? tops[lane * stride + flat] : 0.0f;
  float top = warp_max(own);
  float weight = own == -INFINITY ? 0.0f : exp2_of(own - top);
  float sum = warp_sum(weight * denominator);
  const int head = merge.head_begin + f % merge.head_count;
  const int64_t row = merge.row_begin + f / merge.head_count, at = row * a.heads + head;
  weight *= end_row(sink_of(a, head), top, sum);
  if (lane == 0 && a.lse != nullptr) a.lse[at] = natural_lse(top, sum);
  // All lanes run the loop, since they shuffle.
  for (int begin = 0; begin < head_dim / 4; begin += 32) {
    const bool inside = begin + lane < head_dim / 4;
    const int column = inside ? begin + lane : 0;
    const float* const x = first + static_cast<int64_t>(f) * head_dim + 4 * column;
    float4 o = {0, 0, 0, 0};
#pragma unroll 4
    for (int p = 0; p < merge.parts; ++p) {
      const float4 part = *reinterpret_cast<const float4*>(x + p * stride);
      const float w = __shfl_sync(~0u, weight, p);
      o.x += w * part.x, o.y += w * part.y;
      o.z += w * part.z, o.w += w * part.w;
    }
    if (inside) reinterpret_cast<float4*>(a.out + at * head_dim)[column] = o;
  }
}

}  // namespace

void launch_merge_parts(CUstream_st* stream, const AttendArgs& args, const MergeRecord* merges,
                        int count, int most_rows, int most_parts, int head_dim) {
  const bool decode = most_parts <= kDecodeParts;
  const int blocks = decode ? (most_rows + kRowsOfBlock - 1) / kRowsOfBlock : most_rows;
  // A wide row has few groups of threads, so that its columns are divided among thread blocks.
  const unsigned slices = !decode && is_wide(head_dim) ? 4 : 1;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(count), slices);
  launch_early(stream, "merge_parts", decode ? merge_decode_parts : merge_parts, grid, kThreads, 0,
               args, merges, head_dim);
}

}  // namespace longhaul::cuda
