#pragma once
// Attention of one warpgroup in the wgmma kernel for 64 flat rows. The warpgroup loads the queries,
// multiplies them by tiles of keys and values in shared memory, and maintains the running softmax.
// A flat row is the query of one head of one query row.

#include "ops/attention/row_place.cuh"
#include "ops/core/gpu/hopper.cuh"
#include "ops/core/gpu/reductions.cuh"

namespace longhaul::cuda {

inline constexpr int kBlockRows = 128;  ///< flat rows per thread block
/// Distance in bytes between two groups of 64 columns of the queries. A group holds 64 columns of
/// all rows of the thread block. Each row has 128 bytes in a group and is stored with the 128-byte
/// swizzle.
inline constexpr int kRowHalf = kBlockRows * 128;

/// Sizes for heads of D elements.
template <int D>
struct Sm90Form {
  static constexpr int kKeys = D <= 128 ? 128 : 64;  ///< keys per tile: two pages or one
  static constexpr int kHalf = kKeys * 128;          ///< bytes of 64 columns of all keys of a tile
  static constexpr int kTile = D / 64 * kHalf;
  /// Number of key tiles in shared memory, and also of value tiles. For heads of 128 elements,
  /// three tiles were not faster than two.
  static constexpr int kStages = D == 64 ? 4 : 2;
  static constexpr bool kTurns = D <= 128;
  /// Whether queries stay in registers. This saves a third of the reads from shared memory in the
  /// products with keys. With heads of 256 elements, the registers do not suffice for the queries.
  static constexpr bool kQueriesHere = D <= 128;
  static constexpr int kPages = kKeys / kPageRows;
};

inline constexpr int kSm90Threads = 3 * 128;  ///< one warpgroup loads, two warpgroups compute

/// Shared memory of a thread block. Note is the type of the data about a tile that the computing
/// warpgroups need.
template <int D, class Note>
struct Sm90Shared {
  using F = Sm90Form<D>;
  uint8_t queries[D / 64 * kRowHalf];
  uint8_t keys[F::kStages][F::kTile];
  uint8_t values[F::kStages][F::kTile];
  uint64_t keys_full[F::kStages], keys_empty[F::kStages];
  uint64_t values_full[F::kStages], values_empty[F::kStages];
  Note notes[F::kStages];  ///< one note for each tile of keys

  /// Initialises the barriers. One thread calls it.
  __device__ __forceinline__ void make_barriers() {
    for (int s = 0; s < F::kStages; ++s) {
      barrier_init(shared_address(&keys_full[s]), 1);
      barrier_init(shared_address(&values_full[s]), 1);
      // Each of the 8 computing warps arrives once.
      barrier_init(shared_address(&keys_empty[s]), 8);
      barrier_init(shared_address(&values_empty[s]), 8);
    }
    barriers_are_made();
  }
};

/// Starts the copies of the keys (first = 0) or of the values (first = kPageRows) of a tile's
/// pages.
template <int D>
__device__ __forceinline__ void copy_pages(uint8_t* to, uint64_t* full, const PageMap& pages,
                                           int first, const int (&page)[Sm90Form<D>::kPages]) {
  using F = Sm90Form<D>;
  const uint32_t barrier = shared_address(full), at = shared_address(to);
  barrier_expect(barrier, F::kTile);
#pragma unroll
  for (int p = 0; p < F::kPages; ++p) {
#pragma unroll
    for (int h = 0; h < D / 64; ++h) {
      copy_box(at + h * F::kHalf + p * kPageRows * 128, &pages.map, 64 * h, first, page[p],
               barrier);
    }
  }
}

/// Converts the 64 flat rows of a warpgroup to bf16 and stores them in shared memory. All threads
/// of the warpgroup must call this function. Columns from head_dim on are zeros. Each thread loads
/// up to kMost groups of 8 elements at once.
template <int D, int kMost>
__device__ __forceinline__ void store_queries(const AttendArgs& a, const float* queries,
                                              const UnitRecord& unit, int group, uint32_t to) {
  constexpr int kChunks = D / 8, kStep = 128 / kChunks;  ///< rows that the threads load at a time
  constexpr int kAll = 64 / kStep, kBatch = kAll < kMost ? kAll : kMost;
  const int flat_rows = unit.row_count * unit.head_count;
  const int chunk = threadIdx.x % kChunks, first = 64 * group + threadIdx.x % 128 / kChunks;
  const bool inside = 8 * chunk < a.head_dim;
  to += chunk / 8 * kRowHalf;
#pragma unroll 1
  for (int i = 0; i < kAll; i += kBatch) {
    float4 x[kBatch][2];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int n = first + (i + k) * kStep, f = n < flat_rows ? n : 0;
      const int64_t at = vector_of(a, unit, f);
      const float4* from =
          reinterpret_cast<const float4*>(queries + at * a.head_dim) + (inside ? 2 * chunk : 0);
      x[k][0] = __ldg(from);
      x[k][1] = __ldg(from + 1);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int n = first + (i + k) * kStep;
      uint4 packed = {bf16_pair(x[k][0].x, x[k][0].y), bf16_pair(x[k][0].z, x[k][0].w),
                      bf16_pair(x[k][1].x, x[k][1].y), bf16_pair(x[k][1].z, x[k][1].w)};
      if (n >= flat_rows || !inside) packed = {0, 0, 0, 0};
      store_16(to + n * 128 + ((chunk % 8) ^ (n % 8)) * 16, packed);
    }
  }
  publish_to_engines();
  named_sync<128>(3 + group);
}

/// The state of a warpgroup's 64 flat rows. A lane holds elements of two rows of the unit, `flat`
/// and flat + 8.
template <int D>
struct Rows64 {
  using F = Sm90Form<D>;
  static constexpr int kKeys = F::kKeys;
  float o[D / 2], s[kKeys / 2];
  uint32_t p[kKeys / 4];
  uint32_t q[F::kQueriesHere ? D / 4 : 1];
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0}, shrink[2];

  /// Loads the queries into registers. `queries` is the address of the warpgroup's 64 rows in
  /// shared memory.
  __device__ __forceinline__ void load_queries(uint32_t queries) {
    load_rows<D>(q, queries, kRowHalf);
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

  __device__ __forceinline__ void soften(float scale) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float best = top[h];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
        best = fmaxf(best, fmaxf(s[4 * i + 2 * h], s[4 * i + 2 * h + 1]));
      }
      best = quad_max(best);
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

  /// Multiplies the sums by the factors that soften() computed. After this, the values of the next
  /// tile can be added.
  __device__ __forceinline__ void shrink_sums() {
#pragma unroll
    for (int k = 0; k < D / 2; ++k) o[k] *= shrink[(k >> 1) & 1];
  }

  __device__ __forceinline__ void pack() {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) p[i] = bf16_pair(s[2 * i], s[2 * i + 1]);
  }
};

/// Sets value n of a tile to zero if `is_cleared` is true. n is the index of the calling thread in
/// the warpgroup. All threads of the warpgroup must call this function.
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

/// Writes the results of the unit's rows, or their partial results if the unit has several parts.
/// Must be called after the last tile.
template <int D>
__device__ __forceinline__ void write_rows(const AttendArgs& a, const UnitRecord& unit, int flat,
                                           Rows64<D>& rows) {
  const int lane = threadIdx.x % 32, flat_rows = unit.row_count * unit.head_count;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    rows.sum[h] = quad_sum(rows.sum[h]);
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
