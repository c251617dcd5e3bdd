#pragma once
// Merges the results of the parts of a decode unit. The keys of a unit are split into parts, one
// per thread block. The thread block that finishes last merges all parts.

#include "ops/attention/row_place.cuh"
#include "ops/core/gpu/mma.cuh"
#include "ops/core/gpu/reductions.cuh"

namespace longhaul::cuda {

/// Returns whether this part of the unit is the last one to finish. If so, the thread block can
/// read everything that the other parts wrote.
__device__ __forceinline__ bool arrives_last(const AttendArgs& a, const UnitRecord& unit) {
  __shared__ int last;
  __syncthreads();
  if (threadIdx.x == 0) {
    int32_t* const counter = a.counters + unit.counter;
    __threadfence();
    last = atomicAdd(counter, 1) == unit.parts - 1;
    if (last) *counter = 0;  // the next launch requires zeros
    __threadfence();
  }
  __syncthreads();
  return last;
}

/// Partial results of consecutive parts of a unit that are merged together. They are in global or
/// shared memory.
struct MergedParts {
  const float* first;
  int flat, parts, stride;  ///< flat rows per part, number of parts, floats between parts
};

/// Reads a float from shared memory, or from global memory where another thread block may have
/// written it.
__device__ __forceinline__ float read_anywhere(const float* from) {
  float x;
  asm volatile("ld.relaxed.gpu.f32 %0, [%1];" : "=f"(x) : "l"(from) : "memory");
  return x;
}

/// Computes, for each flat row, the factors by which the sums of the parts are multiplied to give
/// the row's output. Writes them to `weights` [flat][parts] in shared memory. The kMostMerged
/// floats from weights + kMostMerged on are scratch memory. One warp handles one row.
template <int D, int kWarps>
__device__ __forceinline__ void weigh_parts(const AttendArgs& a, const UnitRecord& whole,
                                            const MergedParts& of, float* weights) {
  const int lane = threadIdx.x % 32;
#pragma unroll 1
  for (int f = threadIdx.x / 32; f < of.flat; f += kWarps) {
    const float* const tops = of.first + of.flat * D + f;
    float* const row = weights + f * of.parts;
    float* const sums = row + kMostMerged;
    float top = -INFINITY, sum = 0;
    for (int p = lane; p < of.parts; p += 32) {
      const float of_part = read_anywhere(tops + p * of.stride);
      const float denominator = read_anywhere(tops + of.flat + p * of.stride);
      row[p] = of_part;
      sums[p] = denominator;
      top = fmaxf(top, of_part);
    }
    top = warp_max(top);
    for (int p = lane; p < of.parts; p += 32) {
      row[p] = row[p] == -INFINITY ? 0.0f : exp2_of(row[p] - top);
      sum += row[p] * sums[p];
    }
    sum = warp_sum(sum);
    const RowPlace to = place_of(a, whole, f, D);
    const float factor = end_row(to, top, sum);
    for (int p = lane; p < of.parts; p += 32) row[p] *= factor;
    if (lane == 0) write_denominator(to, top, sum);
  }
}

/// Adds the parts of a unit in a fixed order, independent of which part finished last. `memory` is
/// the whole shared memory of the thread block. As many parts as fit into it are loaded together,
/// so that a thread waits only once for all of them. Registers could hold fewer loads at a time.
template <int D, int kWarps>
__device__ __forceinline__ void merge_parts(const AttendArgs& a, const UnitRecord& unit,
                                            float* memory) {
  constexpr int kThreads = 32 * kWarps;
  // A thread adds up to kItems groups of four floats.
  constexpr int kItems = (kDecodeUnitRows * (D / 4) + kThreads - 1) / kThreads;
  const int flat = unit.row_count * unit.head_count, parts = unit.parts;
  const auto stride = static_cast<int>(part_floats(flat, D));
  const float* const first = a.partial + unit.partial - int64_t{unit.part} * stride;
  UnitRecord whole = unit;
  whole.partial = -1;
  float* const here = memory + 2 * kMostMerged;
  uint32_t bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  const int at_once = min(parts, (static_cast<int>(bytes / 4) - 2 * kMostMerged) / stride);
  float4 o[kItems] = {};
#pragma unroll 1
  for (int begin = 0; begin < parts; begin += at_once) {
    const int some = min(at_once, parts - begin);
    if (begin > 0) __syncthreads();  // barrier: the previous parts have been read
#pragma unroll 4
    for (int i = 4 * threadIdx.x; i < some * stride; i += 4 * kThreads) {
      copy_16(shared_address(here + i), first + begin * stride + i, true);
    }
    commit_copies();
    const bool all = some == parts;
    if (begin == 0 && !all) weigh_parts<D, kWarps>(a, whole, {first, flat, parts, stride}, memory);
    wait_copies<0>();
    __syncthreads();
    if (all) {
      weigh_parts<D, kWarps>(a, whole, {here, flat, parts, stride}, memory);
      __syncthreads();
    }
#pragma unroll
    for (int n = 0; n < kItems; ++n) {
      const int i = threadIdx.x + n * kThreads;
      if (i >= flat * (D / 4)) break;
      const float* const weights = memory + i / (D / 4) * parts + begin;
      const auto* x = reinterpret_cast<const float4*>(here) + i;
#pragma unroll 4
      for (int p = 0; p < some; ++p, x += stride / 4) {
        const float weight = weights[p];
        o[n].x += weight * x->x, o[n].y += weight * x->y;
        o[n].z += weight * x->z, o[n].w += weight * x->w;
      }
    }
  }
#pragma unroll
  for (int n = 0; n < kItems; ++n) {
    const int i = threadIdx.x + n * kThreads, f = i / (D / 4);
    if (i >= flat * (D / 4)) break;
    *reinterpret_cast<float4*>(place_of(a, whole, f, D).sums + i % (D / 4) * 4) = o[n];
  }
}

}  // namespace longhaul::cuda
