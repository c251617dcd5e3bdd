#pragma once
// Keeps the keys with the highest scores for each query row of a kernel. In the fragments of
// mma.sync, each lane holds scores of two rows. If two keys have equal scores, the one with the
// lower number is better.

#include <cstdint>

namespace longhaul::cuda {

struct ScoredKey {
  float score;
  int32_t key;  ///< number of the key; -1 if there is no key
};
inline constexpr ScoredKey kNoKeyYet = {-1e30f, -1};

__device__ __forceinline__ bool better(const ScoredKey& a, const ScoredKey& b) {
  return a.score > b.score || (a.score == b.score && a.key >= 0 && (b.key < 0 || a.key < b.key));
}

/// Returns the best of the keys x of `lanes` lanes, whose lane numbers differ by multiples of
/// `apart`. `lanes` and `apart` are powers of two.
template <int lanes, int apart = 1>
__device__ __forceinline__ ScoredKey best_of_lanes(ScoredKey x) {
#pragma unroll
  for (int step = apart; step < lanes * apart; step *= 2) {
    const ScoredKey other = {__shfl_xor_sync(~0u, x.score, step),
                             __shfl_xor_sync(~0u, x.key, step)};
    if (better(other, x)) x = other;
  }
  return x;
}

/// The best K keys so far, best first. The array is indexed by constants only, so that it stays in
/// registers.
template <int K>
struct BestList {
  ScoredKey at[K];

  __device__ __forceinline__ BestList() {
#pragma unroll
    for (int i = 0; i < K; ++i) at[i] = kNoKeyYet;
  }
  /// Inserts x if its score is among the best K. The key number of x must be higher than those of
  /// all keys in the list.
  __device__ __forceinline__ void offer_next(const ScoredKey& x) {
    if (!(x.score > at[K - 1].score)) return;
#pragma unroll
    for (int i = K - 1; i >= 0; --i) {
      if (i > 0 && x.score > at[i - 1].score) {
        at[i] = at[i - 1];
      } else if (x.score > at[i].score) {
        at[i] = x;
      }
    }
  }
  __device__ __forceinline__ void offer(const ScoredKey& x) {
    if (x.key < 0 || !better(x, at[K - 1])) return;
#pragma unroll
    for (int i = K - 1; i >= 0; --i) {
      if (i > 0 && better(x, at[i - 1])) {
        at[i] = at[i - 1];
      } else if (better(x, at[i])) {
        at[i] = x;
      }
    }
  }
  /// Finds the best key in the lists of `lanes` lanes, removes it from the list of the lane that
  /// has it, and returns it in all of these lanes.
  template <int lanes, int apart = 1>
  __device__ __forceinline__ ScoredKey pop() {
    const ScoredKey best = best_of_lanes<lanes, apart>(at[0]);
    if (best.key >= 0 && best.key == at[0].key) {
#pragma unroll
      for (int i = 0; i + 1 < K; ++i) at[i] = at[i + 1];
      at[K - 1] = kNoKeyYet;
    }
    return best;
  }
};

/// The best keys of the two rows of a lane. The keys of a row are distributed over `lanes` lanes.
template <int K, int lanes, int apart>
struct BestOfRows {
  BestList<K> best[2];
  /// Used with TopRule::kTile (top_keys.h): for each of the two rows, the best of this lane's keys
  /// in the current tile.
  ScoredKey of_tile[2] = {kNoKeyYet, kNoKeyYet};

  /// Offers key x as a candidate for row r. The number of x must be higher than those of all keys
  /// that this lane has already offered for the row. `of_tiles` is true if the rule is
  /// TopRule::kTile.
  __device__ __forceinline__ void offer_next(int r, const ScoredKey& x, bool of_tiles) {
    if (of_tiles) {
      if (x.score > of_tile[r].score) of_tile[r] = x;
    } else {
      best[r].offer_next(x);
    }
  }
  /// Must be called at the end of a tile if the rule is TopRule::kTile. The best key of the tile
  /// becomes a candidate in all lanes of the row.
  __device__ __forceinline__ void end_tile() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      best[r].offer_next(best_of_lanes<lanes, apart>(of_tile[r]));
      of_tile[r] = kNoKeyYet;
    }
  }
  /// Returns the best key of row r and removes it from the lists of the row's lanes. With
  /// TopRule::kTile, all of these lanes have the same list, so the key is removed from each of
  /// them.
  __device__ __forceinline__ ScoredKey pop(int r) { return best[r].template pop<lanes, apart>(); }
};

}  // namespace longhaul::cuda
