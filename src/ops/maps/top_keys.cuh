#pragma once
// Code that is common to all top_keys() kernels. Thread blocks write lists of best keys, and a
// final kernel merges the lists. A flat row is the query of one head of one query row. A job is the
// work of some consecutive thread blocks (score_plan.h).

#include "ops/maps/best_keys.cuh"
#include "ops/maps/score_call.cuh"
#include "ops/maps/stored_fit.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

struct TopArgs {
  ScoreArgs score;
  int32_t k;
  bool of_tiles;  ///< whether the rule is TopRule::kTile
  int32_t* keys;
  float* scores;  ///< may be null
};

/// Returns the address of list `list` of flat row f. The lists are an array [flat rows][lists][k].
__device__ __forceinline__ ScoredKey* part_of_row(const TopArgs& a, const ScoreJob& job, int f,
                                                  int list, int lists) {
  return reinterpret_cast<ScoredKey*>(a.score.room + job.partial) +
         (static_cast<int64_t>(f) * lists + list) * a.k;
}

/// The key tiles [begin, end) of a part of a job.
struct TileStretch {
  int32_t begin, end;
};
__device__ __forceinline__ TileStretch tiles_of(const ScoreJob& job, int part) {
  const int64_t tiles = (job.keys.count + kTopTile - 1) / kTopTile;
  return {static_cast<int32_t>(tiles * part / job.parts),
          static_cast<int32_t>(tiles * (part + 1) / job.parts)};
}

/// Launches the kernel for decode rows over keys of any type, in pages of kPageRows rows. `fit`
/// determines the use of shared memory, and `blocks` is the number of thread blocks.
void launch_top_keys_stored(Stream stream, const TopArgs& args, const StoredFit& fit, int blocks,
                            int head_dim);

inline constexpr int kTopSm90Rows = 256;  ///< flat rows per thread block of the wgmma kernel

/// Launches the wgmma kernel for TopRule::kTile over consecutive rows of bf16 pages. It supports
/// heads of up to 128 elements. Keys are copied in boxes of `box_rows` rows. The first row of a
/// segment must be at a multiple of `box_rows` within its page.
void launch_top_keys_sm90(Stream stream, const TopArgs& args, const PageMap& pages, int box_rows,
                          int blocks, int head_dim);

}  // namespace longhaul::cuda
