#pragma once
// Attention of one warp in the decode kernel. A flat row is the query of one head of one query row.
// A unit is the work of one thread block (attend_records.h). A warp computes eight flat rows at a
// time. It processes the keys in tiles of 16, with a running softmax and mma.sync. Keys and values
// are the left operands of the matrix products (K Q^T, then V^T P^T). The 16 rows of a product are
// therefore keys or elements of values, and its eight columns are the flat rows. With eight query
// heads per KV head, a single query row fills all columns. Each lane holds columns 2 * (lane % 4)
// and 2 * (lane % 4) + 1 of rows lane / 4 and lane / 4 + 8 of a product.

#include "ops/attention/decode/half_bytes.h"
#include "ops/attention/key_tile.cuh"
#include "ops/core/gpu/mix_of_warp.cuh"

namespace longhaul::cuda {

/// Transposes an 8 x 8 matrix of bf16. Four lanes hold a row, with two elements each.
__device__ __forceinline__ uint32_t transposed(uint32_t pair) {
  uint32_t t;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(pair));
  return t;
}

/// Largest allowed difference, in base 2, between the largest logit and the reference logit.
/// Softmax weights are computed relative to the reference logit, so a weight is at most 2^8.
/// Because of this tolerance, not every larger logit requires an update of the reference logit and
/// a rescaling of the sums.
inline constexpr float kLogitSlack = 8;

/// State of a warp's flat rows. In each group of 16 elements of a query, a lane holds four, as two
/// pairs. If kByQuarters is true, these are the four elements that begin at 4 * (lane % 4): the
/// first pair holds the first and third of them, and the second pair holds the second and fourth.
/// block_products.cuh multiplies keys in this order. If kByQuarters is false, the first pair begins
/// at element 2 * (lane % 4), and the second pair begins 8 elements later.
template <int D, bool kByQuarters>
struct DecodeRows {
  uint32_t q[D / 16][2];
  float o[D / 16][4] = {};                  ///< sums of softmax weights times values
  float less[kByQuarters ? D / 32 : 1][2];  ///< initial value of the keys' dot products
                                            ///< (block_products.cuh)
  float top[2] = {-INFINITY, -INFINITY};    ///< reference logits, unscaled
  float high[2] = {-INFINITY, -INFINITY};   ///< unscaled logits above this threshold require a new
                                            ///< reference logit
  float sum[2] = {0, 0};                    ///< this lane's contribution to the denominators
  const float* queries = nullptr;           ///< the query array from which q was loaded
  bool mixed = false;                       ///< whether q has been Hadamard-rotated

  static constexpr int kOwn = kByQuarters ? 4 : 2, kNext = kByQuarters ? 2 : 8;

  /// Loads the queries of the unit's flat rows from the array `from` [rows, heads, D]. The queries
  /// of missing rows become zero.
  __device__ __forceinline__ void load_queries(const float* from, const UnitRecord& unit,
                                               int heads) {
    queries = from;
    mixed = false;
    const int f = threadIdx.x % 32 / 4;
    const bool present = f < unit.row_count * unit.head_count;
    const float* const x = query_of(from, unit, heads, f) + kOwn * (threadIdx.x % 4);
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const auto* const two = reinterpret_cast<const float2*>(x + 16 * k + kNext * i);
        const float2 numbers = present ? __ldg(two) : make_float2(0, 0);
        q[k][i] = bf16_pair(numbers.x, numbers.y);
      }
    }
    order_queries();
  }

  /// Like load_queries(), for keys that are stored Hadamard-rotated. The same transform is applied
  /// to each 32 elements of a query (ops/core/convert.h). `room` is shared memory for eight bf16
  /// rows of kPitch<D> bytes, which serves as scratch memory.
  __device__ __forceinline__ void load_hadamard_queries(const float* from, const UnitRecord& unit,
                                                        int heads, uint32_t room) {
    queries = from;
    mixed = true;
    const int lane = threadIdx.x % 32, flat_rows = unit.row_count * unit.head_count;
#pragma unroll 1
    for (int f = 0; f < kDecodeUnitRows; ++f) {
      const float* const x = query_of(from, unit, heads, f);
#pragma unroll
      for (int t = lane; t < D; t += 32) {
        const float number = mix_of_warp(f < flat_rows ? __ldg(x + t) : 0.0f);
        const auto bits = static_cast<uint16_t>(bf16_pair(number, 0));
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(room + f * kPitch<D> + 2 * t), "h"(bits)
                     : "memory");
      }
    }
    __syncwarp();
    const uint32_t own = room + lane / 4 * kPitch<D> + 2 * kOwn * (lane % 4);
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        asm volatile("ld.shared.u32 %0, [%1];"
                     : "=r"(q[k][i])
                     : "r"(own + 32 * k + 2 * kNext * i)
                     : "memory");
      }
    }
    order_queries();
    __syncwarp();
  }

  /// Computes the dot products c of the queries and 16 bf16 keys [16, D] in shared memory.
  /// Consecutive keys begin kPitch<D> bytes apart.
  __device__ __forceinline__ void multiply_keys(uint32_t keys, float (&c)[4]) const {
    const int lane = threadIdx.x % 32;
    const uint32_t key = keys + lane % 16 * kPitch<D> + lane / 16 * 16;
    // Two accumulators alternate, because a product must wait for the previous product with the
    // same accumulator.
    float odd[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] = 0;
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      uint32_t a[4];
      load_matrices(a, key + 32 * k);
      multiply(k % 2 == 0 ? c : odd, a, q[k][0], q[k][1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] += odd[i];
  }

  /// Multiplies bf16 values [16, D] in shared memory by the weights c, which weigh() computed, and
  /// adds the results to o.
  __device__ __forceinline__ void add_values(uint32_t values, const float (&c)[4]) {
    const int lane = threadIdx.x % 32;
    const uint32_t p[2] = {transposed(bf16_pair(c[0], c[1])), transposed(bf16_pair(c[2], c[3]))};
    const uint32_t value = values + (lane % 8 + lane / 16 * 8) * kPitch<D> + lane / 8 % 2 * 16;
#pragma unroll
    for (int d = 0; d < D / 16; ++d) {
      uint32_t a[4];
      load_transposed(a, value + 32 * d);
      multiply(o[d], a, p[0], p[1]);
    }
  }

  /// Converts the dot products c of a tile's keys to softmax weights. If the reference logits must
  /// rise, rescales the earlier sums. `edge` is true if some row of the unit does not see all keys
  /// of the tile. `heads` is the number of heads of the unit.
  __device__ __forceinline__ void weigh(float (&c)[4], const int32_t* offsets, const TileInfo& info,
                                        int heads, bool edge, LogitForm logits) {
    const int lane = threadIdx.x % 32;
    bend_logits(c, logits.bend);
    if (edge) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = (2 * (lane % 4) + i % 2) / heads;
        const int32_t offset = offsets[lane / 4 + i / 2 * 8];
        if (!sees(info.nearest, info.furthest, row, offset)) c[i] = -INFINITY;
      }
    }
    const bool above = fmaxf(c[0], c[2]) > high[0] || fmaxf(c[1], c[3]) > high[1];
    if (__any_sync(~0u, above)) raise(c, logits.scale);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float safe = top[r] == -INFINITY ? 0.0f : top[r] * logits.scale;
      c[r] = exp2_of(c[r] * logits.scale - safe);
      c[r + 2] = exp2_of(c[r + 2] * logits.scale - safe);
      sum[r] += c[r] + c[r + 2];
    }
  }

  /// Returns which element of a row (of D elements) is summed in this lane's o[d][i].
  __device__ __forceinline__ static int number_of_sum(int d, int i) {
    const int column = threadIdx.x % 32 / 4;
    if (kByQuarters) return d / 2 * 32 + 2 * column + d % 2 + i / 2 * 16;
    return 16 * d + column + i / 2 * 8;
  }

  /// Adds the denominators of all lanes. Must be called after the last tile.
  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int step = 4; step < 32; step *= 2) sum[r] += __shfl_xor_sync(~0u, sum[r], step);
    }
  }

 protected:
  /// Raises the reference logits to the largest logits so far, including those in c, and rescales
  /// the sums and denominators.
  __device__ __forceinline__ void raise(const float (&c)[4], float scale) {
    float shrink[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float best = fmaxf(top[r], fmaxf(c[r], c[r + 2]));
#pragma unroll
      for (int step = 4; step < 32; step *= 2) {
        best = fmaxf(best, __shfl_xor_sync(~0u, best, step));
      }
      shrink[r] = best == -INFINITY ? 0.0f : exp2_of((top[r] - best) * scale);
      top[r] = best;
      high[r] = best + __fdividef(kLogitSlack, scale);
      sum[r] *= shrink[r];
    }
#pragma unroll
    for (int d = 0; d < D / 16; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) o[d][i] *= shrink[i % 2];
    }
  }

  /// Reorders the query elements to the order in which the keys' elements are loaded (if
  /// kByQuarters is true).
  __device__ __forceinline__ void order_queries() {
    if constexpr (kByQuarters) {
#pragma unroll
      for (int k = 0; k < D / 16; ++k) {
        const uint32_t first = q[k][0], second = q[k][1];
        q[k][0] = halves_of(first, second);
        q[k][1] = upper_halves_of(first, second);
      }
#pragma unroll
      for (int block = 0; block < D / 32; ++block) {
        const uint32_t minus = bf16_pair(-kRaised, -kRaised), all[4] = {minus, minus, minus, minus};
        float sums[4] = {0, 0, 0, 0};
        multiply(sums, all, q[2 * block][0], q[2 * block][1]);
        multiply(sums, all, q[2 * block + 1][0], q[2 * block + 1][1]);
        less[block][0] = sums[0];
        less[block][1] = sums[1];
      }
    }
  }

  __device__ __forceinline__ static const float* query_of(const float* from, const UnitRecord& unit,
                                                          int heads, int f) {
    const int64_t row = unit.row_begin + f / unit.head_count;
    return from + (row * heads + unit.head_begin + f % unit.head_count) * D;
  }
};

}  // namespace longhaul::cuda
