#pragma once
// What a warpgroup of the wgmma kernel does with its 64 flat rows: multiplies tiles of keys and
// values in shared memory, keeps the running softmax between, and writes the rows.

#include "ops/cuda/hopper.cuh"
#include "ops/cuda/row_place.cuh"

namespace longhaul::cuda {

inline constexpr int kBlockRows = 128;  ///< flat rows of a block
/// Bytes of 64 columns of them: rows of 128 bytes, swizzled.
inline constexpr int kRowHalf = kBlockRows * 128;

/// How heads of D elements are computed.
template <int D>
struct Sm90Form {
  static constexpr int kKeys = D <= 128 ? 128 : 64;  ///< of a tile: whole pages
  static constexpr int kHalf = kKeys * 128;          ///< bytes of 64 of its columns, as above
  static constexpr int kTile = D / 64 * kHalf;
  /// Tiles of keys and as many of values in shared memory: three gained nothing.
  static constexpr int kStages = D == 64 ? 4 : 2;
  static constexpr bool kTurns = D <= 128;
  /// Queries stay in registers: read from shared memory they would be a third of what a product
  /// with keys reads there. Heads of 256 have no room for them.
  static constexpr bool kQueriesHere = D <= 128;
  /// They come as f32 rows, 32 bytes further apart than they are long, so that eight rows lie in
  /// different banks; those that stay in shared memory are bf16 there, swizzled.
  static constexpr int kQueryPitch = D * 4 + 32;
  static constexpr int kQueryBytes = kQueriesHere ? kBlockRows * kQueryPitch : D / 64 * kRowHalf;
  static constexpr int kPages = kKeys / kPageRows;
};

/// 64 flat rows of one warpgroup. A lane holds rows `flat` and flat + 8 of the unit.
template <int D>
struct Rows64 {
  using F = Sm90Form<D>;
  static constexpr int kKeys = F::kKeys;
  float o[D / 2], s[kKeys / 2];
  uint32_t p[kKeys / 4];
  uint32_t q[F::kQueriesHere ? D / 4 : 1];
  float top[2], sum[2], shrink[2];

  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int i = 0; i < D / 2; ++i) o[i] = 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      top[h] = -INFINITY;
      sum[h] = 0;
    }
  }

  /// `queries`: the unit's rows in shared memory. Elements past head_dim become zeros; a row past
  /// the unit's is whatever lies there, and nobody reads its result.
  __device__ __forceinline__ void load_queries(uint32_t queries, int flat, int head_dim) {
    const uint32_t at = queries + flat * F::kQueryPitch + threadIdx.x % 4 * 8;
#pragma unroll
    for (int k = 0; k < D / 8; ++k) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float2 x = load_8(at + 8 * h * F::kQueryPitch + k * 32);
        q[4 * (k / 2) + 2 * (k % 2) + h] = 8 * k < head_dim ? bf16_pair(x.x, x.y) : 0;
      }
    }
  }

  __device__ __forceinline__ void multiply_keys(uint32_t queries, uint32_t keys) {
    const uint64_t row = matrix_at(queries, 16, 1024), key = matrix_at(keys, 16, 1024);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      const uint64_t b = matrix_behind(key, k / 4 * F::kHalf + k % 4 * 32);
      if constexpr (F::kQueriesHere) {
        wgmma_registers_by_rows(s, q + 4 * k, b, k > 0);
      } else {
        wgmma_shared(s, matrix_behind(row, k / 4 * kRowHalf + k % 4 * 32), b, k > 0);
      }
    }
    wgmma_commit();
  }

  __device__ __forceinline__ void multiply_values(uint32_t values) {
    const uint64_t first = matrix_at(values, F::kHalf, 1024);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
      wgmma_registers(o, p + 4 * k, matrix_behind(first, k * 2048));
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
    for (int i = 0; i < D / 2; ++i) o[i] *= shrink[(i >> 1) & 1];
  }

  __device__ __forceinline__ void pack() {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) p[i] = bf16_pair(s[2 * i], s[2 * i + 1]);
  }
};

/// The 64 flat rows of a warpgroup as bf16, by the threads that will multiply them. Columns past
/// head_dim and rows past the unit's are zeros.
template <int D>
__device__ __forceinline__ void store_queries(const AttendArgs& a, const float* queries,
                                              const UnitRecord& unit, int group, uint32_t to) {
  constexpr int kChunks = D / 8, kStep = 128 / kChunks;  // rows that the threads bring at a time
  const int flat_rows = unit.row_count * unit.head_count;
  const int chunk = threadIdx.x % kChunks, first = 64 * group + threadIdx.x % 128 / kChunks;
  const bool inside = 8 * chunk < a.head_dim;
#pragma unroll 2
  for (int n = first; n < 64 * group + 64; n += kStep) {
    const int f = n < flat_rows ? n : 0;
    const int64_t row = unit.row_begin + f / unit.head_count;
    const int64_t at = row * a.heads + unit.head_begin + f % unit.head_count;
    const float4* from =
        reinterpret_cast<const float4*>(queries + at * a.head_dim) + (inside ? 2 * chunk : 0);
    const float4 x = __ldg(from), y = __ldg(from + 1);
    uint4 packed = {bf16_pair(x.x, x.y), bf16_pair(x.z, x.w), bf16_pair(y.x, y.y),
                    bf16_pair(y.z, y.w)};
    if (n >= flat_rows || !inside) packed = {0, 0, 0, 0};
    store_16(to + chunk / 8 * kRowHalf + n * 128 + ((chunk % 8) ^ (n % 8)) * 16, packed);
  }
  publish_to_engines();
  named_sync<128>(3 + group);
}

/// Thread n of a warpgroup makes value n of a tile zeros, where it `is_cleared`. By all threads.
template <int D>
__device__ __forceinline__ void clear_value(uint32_t values, int n, bool is_cleared, int group) {
  if (is_cleared) {
#pragma unroll
    for (int i = 0; i < D / 8; ++i) {
      store_16(values + i / 8 * Sm90Form<D>::kHalf + n * 128 + i % 8 * 16, {0, 0, 0, 0});
    }
  }
  publish_to_engines();
  named_sync<128>(3 + group);
}

/// Writes the unit's rows, or its part of them, once all tiles are added.
template <int D>
__device__ __forceinline__ void write_rows(const AttendArgs& a, const UnitRecord& unit, int flat,
                                           Rows64<D>& rows) {
  const int lane = threadIdx.x % 32, flat_rows = unit.row_count * unit.head_count;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    rows.sum[h] += __shfl_xor_sync(~0u, rows.sum[h], 1);
    rows.sum[h] += __shfl_xor_sync(~0u, rows.sum[h], 2);
    const int f = flat + 8 * h;
    if (f >= flat_rows) continue;
    const RowPlace to = place_of(a, unit, f, a.head_dim);
    float best = rows.top[h] * a.logits.scale, denominator = rows.sum[h];
    const float factor = end_row(to, best, denominator);
    float2* x = reinterpret_cast<float2*>(to.sums) + lane % 4;
#pragma unroll
    for (int i = 0; i < D / 8; ++i) {
      if (8 * i >= a.head_dim) break;
      x[4 * i] = make_float2(rows.o[4 * i + 2 * h] * factor, rows.o[4 * i + 2 * h + 1] * factor);
    }
    if (lane % 4 == 0) write_denominator(to, best, denominator);
  }
}

}  // namespace longhaul::cuda
