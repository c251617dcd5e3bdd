#pragma once
// What the attention kernels for Hopper consist of: 128 flat rows in shared memory, tiles of keys
// and values that the copy engine brings, and a warpgroup's running softmax over them by wgmma.

#include "ops/cuda/hopper.cuh"
#include "ops/cuda/row_block.cuh"

namespace longhaul::cuda {

inline constexpr int kSm90Rows = 128;                 ///< flat rows of a block, 64 a warpgroup
inline constexpr int kSm90RowHalf = kSm90Rows * 128;  ///< bytes of 64 columns of them, swizzled
inline constexpr int kSm90Threads = 3 * 128;          ///< one warpgroup loads, two compute

/// How heads of D elements are computed.
template <int D>
struct Sm90Form {
  static constexpr int kKeys = 128;          ///< of a tile: two pages
  static constexpr int kHalf = kKeys * 128;  ///< bytes of 64 of its columns: rows of 128, swizzled
  static constexpr int kTile = D / 64 * kHalf;
  static constexpr int kStages = D == 64 ? 4 : 2;
};

/// `Note`: what the warpgroups that compute need to know of a tile; there when its keys are.
template <int D, class Note>
struct Sm90Tiles {
  using Form = Sm90Form<D>;
  static constexpr int kStages = Form::kStages;
  uint8_t queries[D / 64 * kSm90RowHalf];
  uint8_t keys[kStages][Form::kTile];
  uint8_t values[kStages][Form::kTile];
  uint64_t keys_full[kStages], keys_empty[kStages];
  uint64_t values_full[kStages], values_empty[kStages];
  Note notes[kStages];

  /// By one thread.
  __device__ void make_barriers() {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(shared_address(&keys_full[s]), 1);
      barrier_init(shared_address(&values_full[s]), 1);
      barrier_init(shared_address(&keys_empty[s]), 8);  // warps that compute
      barrier_init(shared_address(&values_empty[s]), 8);
    }
    barriers_are_made();
  }
};

/// Keys (first = 0) or values (kPageRows) of two pages of the map.
template <int D>
__device__ __forceinline__ void copy_pages(uint8_t* to, uint64_t* full, const PageMap& pages,
                                           int first, const int (&page)[2]) {
  using Form = Sm90Form<D>;
  const uint32_t barrier = shared_address(full), at = shared_address(to);
  barrier_expect(barrier, Form::kTile);
#pragma unroll
  for (int h = 0; h < D / 64; ++h) {
    copy_box(at + h * Form::kHalf, &pages.map, 64 * h, first, page[0], barrier);
    copy_box(at + h * Form::kHalf + Form::kHalf / 2, &pages.map, 64 * h, first, page[1], barrier);
  }
}

/// The 64 flat rows from `flat` on of the unit, as bf16, by the 128 threads that will multiply
/// them. Columns past head_dim are zeros.
template <int D>
__device__ __forceinline__ void store_queries(const float* queries, const UnitRecord& unit,
                                              int heads, int head_dim, int flat, uint32_t to) {
  constexpr int kChunks = D / 8;
  const int flat_rows = unit.row_count * unit.head_count;
#pragma unroll 4
  for (int i = 0; i < 64 * kChunks / 128; ++i) {
    const int c = threadIdx.x % 128 + 128 * i, n = flat + c / kChunks, chunk = c % kChunks;
    uint4 x = {0, 0, 0, 0};
    if (n < flat_rows && 8 * chunk < head_dim) {
      const int64_t row = unit.row_begin + n / unit.head_count;
      const float4* from =
          reinterpret_cast<const float4*>(
              queries + (row * heads + unit.head_begin + n % unit.head_count) * head_dim) +
          2 * chunk;
      const float4 u = __ldg(from), v = __ldg(from + 1);
      x = {bf16_pair(u.x, u.y), bf16_pair(u.z, u.w), bf16_pair(v.x, v.y), bf16_pair(v.z, v.w)};
    }
    store_16(to + chunk / 8 * kSm90RowHalf + n * 128 + ((chunk % 8) ^ (n % 8)) * 16, x);
  }
}

/// 64 flat rows of one warpgroup. A lane holds rows `flat` and flat + 8 of the unit.
template <int D>
struct Rows64 {
  static constexpr int kKeys = Sm90Form<D>::kKeys;
  float o[D / 2], s[kKeys / 2];
  uint32_t p[kKeys / 4];
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0}, shrink[2];

  __device__ __forceinline__ void multiply_keys(uint32_t queries, uint32_t keys) {
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      const uint32_t row = queries + k / 4 * kSm90RowHalf + k % 4 * 32;
      const uint32_t key = keys + k / 4 * Sm90Form<D>::kHalf + k % 4 * 32;
      wgmma_shared(s, matrix_at(row, 16, 1024), matrix_at(key, 16, 1024), k > 0);
    }
    wgmma_commit();
  }

  __device__ __forceinline__ void multiply_values(uint32_t values) {
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
      wgmma_registers(o, p + 4 * k, matrix_at(values + k * 2048, Sm90Form<D>::kHalf, 1024));
    }
    wgmma_commit();
  }

  /// As far as a cap bounds them.
  __device__ __forceinline__ void bend(float factor) {
    if (factor == 0) return;
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) s[i] = tanh_of(s[i] * factor);
  }

  __device__ __forceinline__ void soften(float scale) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float best = top[h];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
        best = fmaxf(best, fmaxf(s[4 * i + 2 * h], s[4 * i + 2 * h + 1]));
      }
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
      const float safe = best == -INFINITY ? 0.0f : best * scale;
      shrink[h] = exp2_of(top[h] * scale - safe);
      top[h] = best;
      float added = 0;
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
        s[4 * i + 2 * h] = exp2_of(s[4 * i + 2 * h] * scale - safe);
        s[4 * i + 2 * h + 1] = exp2_of(s[4 * i + 2 * h + 1] * scale - safe);
        added += s[4 * i + 2 * h] + s[4 * i + 2 * h + 1];
      }
      sum[h] = sum[h] * shrink[h] + added;
    }
  }

  __device__ __forceinline__ void shrink_sums() {
#pragma unroll
    for (int k = 0; k < D / 2; ++k) o[k] *= shrink[(k >> 1) & 1];
  }

  __device__ __forceinline__ void pack() {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) p[i] = bf16_pair(s[2 * i], s[2 * i + 1]);
  }

  /// Once all tiles are added.
  __device__ __forceinline__ void write(const AttendArgs& a, const UnitRecord& unit, int flat) {
    const int lane = threadIdx.x % 32, flat_rows = unit.row_count * unit.head_count;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      sum[h] += __shfl_xor_sync(~0u, sum[h], 1);
      sum[h] += __shfl_xor_sync(~0u, sum[h], 2);
      const int f = flat + 8 * h;
      if (f >= flat_rows) continue;
      const RowPlace to = place_of(a, unit, f, a.head_dim);
      float best = top[h] * a.logits.scale, denominator = sum[h];
      const float factor = end_row(to, best, denominator);
      float2* x = reinterpret_cast<float2*>(to.sums) + lane % 4;
#pragma unroll
      for (int i = 0; i < D / 8; ++i) {
        if (8 * i >= a.head_dim) break;
        x[4 * i] = make_float2(o[4 * i + 2 * h] * factor, o[4 * i + 2 * h + 1] * factor);
      }
      if (lane % 4 == 0) write_denominator(to, best, denominator);
    }
  }
};

}  // namespace longhaul::cuda
