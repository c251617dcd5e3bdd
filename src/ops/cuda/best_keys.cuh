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

/// The best of the lanes whose numbers differ in the bits below `lanes` (a power of two).
template <int lanes>
__device__ __forceinline__ ScoredKey best_of_lanes(ScoredKey x) {
#pragma unroll
  for (int step = 1; step < lanes; step *= 2) {
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
  template <int lanes>
  __device__ __forceinline__ ScoredKey pop() {
    const ScoredKey best = best_of_lanes<lanes>(at[0]);
    if (best.key >= 0 && best.key == at[0].key) {
#pragma unroll
      for (int i = 0; i + 1 < K; ++i) at[i] = at[i + 1];
      at[K - 1] = kNoKeyYet;
    }
    return best;
  }
};

}  // namespace longhaul::cuda
