#pragma once
// Multiplies the flat rows of a warp by 16 keys in shared memory, in their stored format, and keeps
// the best keys of each row. A flat row is the query of one head of one query row.

#include "ops/attention/decode/block_products.cuh"
#include "ops/maps/stored_fit.h"
#include "ops/maps/top_rows.cuh"

namespace longhaul::cuda {

/// Sixteen flat rows of a warp, for keys of any type. The keys are first converted to bf16 in the
/// warp's own memory.
template <int D, int K>
struct ExpandedRows {
  static constexpr int kFlatRows = kExpandedFlatRows;
  static_assert(stored_own_bytes(D, kFlatRows) == kDecodeKeys * kPitch<D>);

  RowsAndBest<D, K> rows;
  uint32_t tile;

  __device__ __forceinline__ void load(const TopArgs& a, const ScoreJob& job, int flat,
                                       uint32_t own) {
    rows.load(a, job, flat);
    tile = own;
  }
  __device__ __forceinline__ void add_keys(uint32_t keys, const SegmentRecord& s, int32_t first,
                                           bool of_tiles) {
    StageRows stored;
    stored.listed = false;
    stored.pitch = static_cast<uint16_t>(stored_bytes(s.key_type, D));
    // Data past the last key may be NaN, but its scores are ignored.
    expand_rows<D>(keys, stored, s.key_type, ~0u, tile);
    __syncwarp();
    rows.add_keys(tile, first, s.count, of_tiles);
  }
  __device__ __forceinline__ void end_tile() { rows.end_tile(); }
  __device__ __forceinline__ ScoredKey pop(int r) { return rows.best.pop(r); }
  /// flat_row(r) returns the number, within the thread block, of the flat row to which pop(r)
  /// refers. writes() returns true in the lane that writes the list of this row.
  __device__ __forceinline__ static int flat_row(int r) { return threadIdx.x % 32 / 4 + 8 * r; }
  __device__ __forceinline__ static bool writes() { return threadIdx.x % 4 == 0; }
};

/// Eight flat rows of a warp, for keys in block formats, which are multiplied as stored. If the
/// keys are Hadamard-rotated, the queries are rotated in the warp's own memory. A lane has keys
/// lane / 4 and lane / 4 + 8.
template <int D, int K>
struct BlockRows {
  static constexpr int kFlatRows = kBlockFlatRows;
  static_assert(stored_own_bytes(D, kFlatRows) == kDecodeUnitRows * kPitch<D>);

  DecodeRows<D, true> rows;
  BestOfRows<K, 8, 4> best;

  __device__ __forceinline__ void load(const TopArgs& a, const ScoreJob& job, int, uint32_t own) {
    UnitRecord unit;
    unit.row_begin = job.row_begin, unit.row_count = job.row_count;
    unit.head_begin = job.head_begin, unit.head_count = job.head_count;
    if (job.keys.key_type == PageType::kHadamardQ4_0) {
      rows.load_hadamard_queries(job.keys.queries, unit, a.score.heads, own);
    } else {
      rows.load_queries(job.keys.queries, unit, a.score.heads);
    }
  }
  __device__ __forceinline__ void add_keys(uint32_t keys, const SegmentRecord& s, int32_t first,
                                           bool of_tiles) {
    float c[4];
    with_block_type(s.key_type,
                    [&](auto type) { multiply_keys<decltype(type)::value>(rows, keys, c); });
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = first + static_cast<int>(threadIdx.x % 32 / 4) + 8 * (i / 2);
      if (key < s.count) best.offer_next(i % 2, {c[i], key}, of_tiles);
    }
  }
  __device__ __forceinline__ void end_tile() { best.end_tile(); }
  __device__ __forceinline__ ScoredKey pop(int r) { return best.pop(r); }
  __device__ __forceinline__ static int flat_row(int r) { return 2 * (threadIdx.x % 4) + r; }
  __device__ __forceinline__ static bool writes() { return threadIdx.x % 32 < 4; }
};

}  // namespace longhaul::cuda
