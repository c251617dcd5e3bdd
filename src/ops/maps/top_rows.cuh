#pragma once
// Multiplies sixteen flat rows of a warp by keys in shared memory and keeps the best keys of each
// row. A flat row is the query of one head of one query row.

#include "ops/maps/top_keys.cuh"

namespace longhaul::cuda {

/// Sixteen flat rows of a warp, and their best keys so far.
template <int D, int K>
struct RowsAndBest {
  uint32_t q[D / 16][4];
  BestOfRows<K, 4, 1> best;  ///< best keys of rows lane / 4 and lane / 4 + 8

  __device__ __forceinline__ void load(const TopArgs& a, const ScoreJob& job, int flat) {
    const int lane = threadIdx.x % 32;
    const uint32_t* from[2];
    bool present[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int f = flat + lane / 4 + 8 * h;
      present[h] = f < job.row_count * job.head_count;
      const int at = present[h] ? f : 0;
      const int64_t row = job.row_begin + at / job.head_count;
      from[h] =
          reinterpret_cast<const uint32_t*>(
              job.queries + (row * a.score.heads + job.head_begin + at % job.head_count) * D) +
          lane % 4;
    }
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        q[k][i] = present[i % 2] ? __ldg(from[i % 2] + 8 * k + 4 * (i / 2)) : 0;
      }
    }
  }

  /// Offers 16 keys in shared memory as candidates. The first has key number `first`. Keys with
  /// numbers from `count` on are ignored.
  __device__ __forceinline__ void add_keys(uint32_t keys, int32_t first, int32_t count,
                                           bool of_tiles) {
    const int lane = threadIdx.x % 32;
    float c[2][4] = {};
    const uint32_t key = keys + (lane % 8 + 8 * (lane / 16)) * kPitch<D> + lane / 8 % 2 * 16;
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      uint32_t b[4];
      load_matrices(b, key + 32 * k);
      multiply(c[0], q[k], b[0], b[1]);
      multiply(c[1], q[k], b[2], b[3]);
    }
#pragma unroll
    for (int g = 0; g < 2; ++g) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const ScoredKey x = {c[g][i], first + 8 * g + 2 * (lane % 4) + i % 2};
        if (x.key < count) best.offer_next(i / 2, x, of_tiles);
      }
    }
  }

  __device__ __forceinline__ void end_tile() { best.end_tile(); }

  __device__ __forceinline__ void write(const TopArgs& a, const ScoreJob& job, int flat, int list,
                                        int lists) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int f = flat + lane / 4 + 8 * h;
      const bool writes = lane % 4 == 0 && f < job.row_count * job.head_count;
#pragma unroll
      for (int i = 0; i < K; ++i) {
        const ScoredKey x = best.pop(h);
        if (writes && i < a.k) part_of_row(a, job, f, list, lists)[i] = x;
      }
    }
  }
};

}  // namespace longhaul::cuda
