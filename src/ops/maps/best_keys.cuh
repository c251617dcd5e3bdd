#pragma once
// Keeps the best keys so far of a lane's two query rows, with scores in mma.sync fragments. Of keys
// with equal scores the lower key wins.

#include <cstdint>

namespace longhaul::cuda {

struct ScoredKey {
  float score;
  int32_t key;  ///< -1: none
};
inline constexpr ScoredKey kNoKeyYet = {-1e30f, -1};

__device__ __forceinline__ bool better(const ScoredKey& a, const ScoredKey& b) {
  return a.score > b.score || (a.score == b.score && a.key >= 0 && (b.key < 0 || a.key < b.key));
}

/// Returns the best of `lanes` lanes (a power of two) whose numbers differ by multiples of `apart`
/// (also a power of two).
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

/// A list of K keys, best first. All indices are constants, so the list stays in registers.
template <int K>
struct BestList {
  ScoredKey at[K];

  __device__ __forceinline__ BestList() {
#pragma unroll
    for (int i = 0; i < K; ++i) at[i] = kNoKeyYet;
  }
  /// Offers a key with a higher number than all keys in the list.
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
  /// Removes the best key over the lists of `lanes` lanes from its list and returns it to all.
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

/// The best keys of two rows. The keys of each row are distributed over `lanes` lanes.
template <int K, int lanes, int apart>
struct BestOfRows {
  BestList<K> best[2];
  ScoredKey of_tile[2] = {kNoKeyYet, kNoKeyYet};  ///< best key of this lane, for TopRule::kTile

  /// Offers a key with a higher number than all previous keys of this lane for row r.
  __device__ __forceinline__ void offer_next(int r, const ScoredKey& x, bool of_tiles) {
    if (of_tiles) {
      if (x.score > of_tile[r].score) of_tile[r] = x;
    } else {
      best[r].offer_next(x);
    }
  }
  /// Ends a tile of TopRule::kTile. The best key of the tile becomes a candidate in all lanes.
  __device__ __forceinline__ void end_tile() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      best[r].offer_next(best_of_lanes<lanes, apart>(of_tile[r]));
      of_tile[r] = kNoKeyYet;
    }
  }
  /// Removes the best key of row r from all lists. Lanes have equal lists of tiles' best keys, so
  /// the key leaves all of them.
  __device__ __forceinline__ ScoredKey pop(int r) { return best[r].template pop<lanes, apart>(); }
};

}  // namespace longhaul::cuda
