#pragma once
// Attention of one warp in the prefill kernel for sm_80. A flat row is the query of one head of one
// query row. A unit is the work of one thread block (attend_records.h). A warp computes sixteen
// flat rows at a time. It processes the tiles of keys one after another, with a running softmax and
// mma.sync. A lane holds elements of flat rows lane / 4 and lane / 4 + 8.

#include "ops/attention/key_tile.cuh"
#include "ops/core/gpu/reductions.cuh"

namespace longhaul::cuda {

template <int D, int N>
struct RowBlock {
  /// Whether the query fragments are in shared memory. With heads of 256 elements, the registers do
  /// not suffice for them.
  static constexpr bool kQueriesShared = D > 128;
  /// Size in bytes of the shared memory of a warp.
  static constexpr int kSharedBytes = kQueriesShared ? D / 16 * 512 : 0;
  uint32_t q[kQueriesShared ? 1 : D / 16][4];
  uint32_t shared_q;                      ///< shared-memory address of this lane's query fragments
  float o[D / 8][4];                      ///< sums of softmax weights times values
  float top[2] = {-INFINITY, -INFINITY};  ///< largest unscaled logit
  float sum[2] = {0, 0};                  ///< this lane's contribution to the denominators
  const float* queries = nullptr;         ///< the query array from which q was loaded

  /// `shared` is the address of this warp's kSharedBytes bytes of shared memory.
  __device__ __forceinline__ explicit RowBlock(uint32_t shared)
      : shared_q(shared + threadIdx.x % 32 * 16) {
#pragma unroll
    for (int d = 0; d < D / 8; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) o[d][i] = 0;
    }
  }

  /// Loads the queries of the unit's flat rows [flat, flat + 16).
  __device__ __forceinline__ void load_queries(const float* from, const UnitRecord& unit, int heads,
                                               int flat) {
    queries = from;
    const int lane = threadIdx.x % 32;
    const float* x[2];
    bool present[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int f = flat + lane / 4 + 8 * h;
      present[h] = f < unit.row_count * unit.head_count;
      const int64_t row = unit.row_begin + f / unit.head_count;
      x[h] = from + (row * heads + unit.head_begin + f % unit.head_count) * D + 2 * (lane % 4);
    }
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      uint32_t a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int h = i % 2, at = 16 * k + 8 * (i / 2);
        const float2 two =
            present[h] ? __ldg(reinterpret_cast<const float2*>(x[h] + at)) : make_float2(0, 0);
        a[i] = bf16_pair(two.x, two.y);
      }
      if constexpr (kQueriesShared) {
        store_16(shared_q + 512 * k, {a[0], a[1], a[2], a[3]});
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) q[k][i] = a[i];
      }
    }
  }

  /// Adds the attention over one tile to flat rows [flat, flat + 16) of a unit with `heads` heads.
  /// `keys` and `values` are the addresses of the tile's keys and values [N, D] in shared memory.
  /// `edge` is true if some row does not see all keys of the tile.
  __device__ __forceinline__ void add_tile(uint32_t keys, uint32_t values, const int32_t* offsets,
                                           const TileInfo& info, int flat, int heads, bool edge,
                                           LogitForm logits) {
    const int lane = threadIdx.x % 32;
    float c[N / 8][4];
#pragma unroll
    for (int g = 0; g < N / 8; ++g) {
#pragma unroll
      for (int i = 0; i < 4; ++i) c[g][i] = 0;
    }
    const uint32_t key = keys + (lane % 8 + 8 * (lane / 16)) * kPitch<D> + lane / 8 % 2 * 16;
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      uint32_t a[4];
      if constexpr (kQueriesShared) {
        const uint4 x = load_16(shared_q + 512 * k);
        a[0] = x.x, a[1] = x.y, a[2] = x.z, a[3] = x.w;
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[i] = q[k][i];
      }
#pragma unroll
      for (int g = 0; g < N / 16; ++g) {
        uint32_t b[4];
        load_matrices(b, key + 16 * g * kPitch<D> + 32 * k);
        multiply(c[2 * g], a, b[0], b[1]);
        multiply(c[2 * g + 1], a, b[2], b[3]);
      }
    }
    bend_logits(c, logits.bend);
    if (edge) {
      const int row[2] = {(flat + lane / 4) / heads, (flat + lane / 4 + 8) / heads};
#pragma unroll
      for (int g = 0; g < N / 8; ++g) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int32_t offset = offsets[8 * g + 2 * (lane % 4) + i % 2];
          if (!sees(info.nearest, info.furthest, row[i / 2], offset)) c[g][i] = -INFINITY;
        }
      }
    }
    const float2 shrink = soften(c, logits.scale);
#pragma unroll
    for (int d = 0; d < D / 8; ++d) {
      o[d][0] *= shrink.x, o[d][1] *= shrink.x;
      o[d][2] *= shrink.y, o[d][3] *= shrink.y;
    }
    const uint32_t value = values + lane % 16 * kPitch<D> + lane / 16 * 16;
#pragma unroll
    for (int g = 0; g < N / 16; ++g) {
      const uint32_t p[4] = {
          bf16_pair(c[2 * g][0], c[2 * g][1]), bf16_pair(c[2 * g][2], c[2 * g][3]),
          bf16_pair(c[2 * g + 1][0], c[2 * g + 1][1]), bf16_pair(c[2 * g + 1][2], c[2 * g + 1][3])};
#pragma unroll
      for (int d = 0; d < D / 16; ++d) {
        uint32_t b[4];
        load_transposed(b, value + 16 * g * kPitch<D> + 32 * d);
        multiply(o[2 * d], p, b[0], b[1]);
        multiply(o[2 * d + 1], p, b[2], b[3]);
      }
    }
  }

  /// Adds the denominators of all lanes. Must be called after the last tile.
  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int h = 0; h < 2; ++h) sum[h] = quad_sum(sum[h]);
  }

 private:
  /// Converts logits to softmax weights in place and adds them to the denominators. Returns, for
  /// each of the lane's two rows, the factor by which its earlier sums must be multiplied.
  __device__ __forceinline__ float2 soften(float (&c)[N / 8][4], float scale) {
    float shrink[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float best = top[h];
#pragma unroll
      for (int g = 0; g < N / 8; ++g) best = fmaxf(best, fmaxf(c[g][2 * h], c[g][2 * h + 1]));
      best = quad_max(best);
      const float safe = best == -INFINITY ? 0.0f : best * scale;
      shrink[h] = exp2_of(top[h] * scale - safe);
      top[h] = best;
      float added = 0;
#pragma unroll
      for (int g = 0; g < N / 8; ++g) {
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i) {
          c[g][i] = exp2_of(c[g][i] * scale - safe);
          added += c[g][i];
        }
      }
      sum[h] = sum[h] * shrink[h] + added;
    }
    return {shrink[0], shrink[1]};
  }
};

}  // namespace longhaul::cuda
