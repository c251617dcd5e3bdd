#pragma once
// Shared parts of the top_keys() kernels. Thread blocks write lists of best keys, which a last
// kernel merges.

#include "ops/maps/best_keys.cuh"
#include "ops/maps/score_call.cuh"
#include "ops/maps/stored_fit.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

struct TopArgs {
  ScoreArgs score;
  int32_t k;
  bool of_tiles;  ///< TopRule::kTile
  int32_t* keys;
  float* scores;  ///< may be null
};

/// Returns the address of list `list` of (row, head) row f in an array [(row, head)
/// rows][lists][k].
__device__ __forceinline__ ScoredKey* part_of_row(const TopArgs& a, const ScoreJob& job, int f,
                                                  int list, int lists) {
  return reinterpret_cast<ScoredKey*>(a.score.room + job.partial) +
         (static_cast<int64_t>(f) * lists + list) * a.k;
}

/// The tiles of keys of a part.
struct TileStretch {
  int32_t begin, end;
};
__device__ __forceinline__ TileStretch tiles_of(const ScoreJob& job, int part) {
  const int64_t tiles = (job.keys.count + kTopTile - 1) / kTopTile;
  return {static_cast<int32_t>(tiles * part / job.parts),
          static_cast<int32_t>(tiles * (part + 1) / job.parts)};
}

/// Handles decode rows over keys of any type, in pages of kPageRows rows, with the parameters of
/// `fit`.
void launch_top_keys_stored(Stream stream, const TopArgs& args, const StoredFit& fit, int blocks,
                            int head_dim);

inline constexpr int kTopSm90Rows = 256;  ///< (row, head) rows per thread block of the wgmma kernel

/// Computes TopRule::kTile over consecutive rows of bf16 pages, for heads of up to 128 elements.
/// The first row of a segment within its page must be a multiple of `box_rows`.
void launch_top_keys_sm90(Stream stream, const TopArgs& args, const PageMap& pages, int box_rows,
                          int blocks, int head_dim);

}  // namespace longhaul::cuda
