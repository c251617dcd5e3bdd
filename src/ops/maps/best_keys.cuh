#pragma once
// The running best keys of two query rows of a lane, by scores in the fragments of mma.sync. Of
// equal scores the lower key wins.

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

/// The best of `lanes` lanes (a power of two), whose numbers are `apart` (another) apart.
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

/// K keys, best first; all indices are constants, so that the list stays in registers.
template <int K>
struct BestList {
  ScoredKey at[K];

  __device__ __forceinline__ BestList() {
#pragma unroll
    for (int i = 0; i < K; ++i) at[i] = kNoKeyYet;
  }
  /// Of a key behind all that are in the list.
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
  /// The best of the lists of `lanes` lanes leaves the list that it is in, and is returned to all.
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

/// The best keys of two rows, each of whose keys are dealt to `lanes` lanes.
template <int K, int lanes, int apart>
struct BestOfRows {
  BestList<K> best[2];
  ScoredKey of_tile[2] = {kNoKeyYet, kNoKeyYet};  ///< this lane's, for TopRule::kTile

  /// A key behind all that this lane has had for row r.
  __device__ __forceinline__ void offer_next(int r, const ScoredKey& x, bool of_tiles) {
    if (of_tiles) {
      if (x.score > of_tile[r].score) of_tile[r] = x;
    } else {
      best[r].offer_next(x);
    }
  }
  /// A tile of TopRule::kTile is over: its best key becomes a candidate, of all lanes alike.
  __device__ __forceinline__ void end_tile() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      best[r].offer_next(best_of_lanes<lanes, apart>(of_tile[r]));
      of_tile[r] = kNoKeyYet;
    }
  }
  /// The best key of row r leaves all lists. Lanes have the same lists of tiles' best keys: equal
  /// keys leave all of them.
  __device__ __forceinline__ ScoredKey pop(int r) { return best[r].template pop<lanes, apart>(); }
};

}  // namespace longhaul::cuda
