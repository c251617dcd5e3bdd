#pragma once
// Keeps the best keys of query rows. The scores are offered one tile of keys after another. A flat
// row is the query of one head of one query row. Include this only in *.isa.cc files, which are
// compiled once per instruction set.

#include "ops/core/isa/simd.h"
#include "ops/maps/top_keys_kernels.h"

namespace longhaul::LH_ISA {

static inline bool any_above(Vec v, float limit) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)v, _mm512_set1_ps(limit), _CMP_GT_OQ) != 0;
#else
  return reduce_max(v) > limit;
#endif
}

/// Lists of the best keys, [flat rows, k], best first. Keys are offered in ascending order of their
/// numbers, so that of two keys with equal scores the one with the lower number is kept.
struct BestKeys {
  const TopKeysUnit& unit;

  void clear(int flat_rows) const {
    for (int i = 0; i < flat_rows * unit.k; ++i) unit.scores[i] = kNoScore, unit.keys[i] = -1;
  }

  /// Returns the score that a key must exceed to enter the list of flat row f.
  float worst(int f) const { return unit.scores[f * unit.k + unit.k - 1]; }

  /// Offers keys first, first + 1, and so on to flat row f. `scores` has `padded` scores, a
  /// multiple of 32. Scores without a key are kNoScore.
  void offer(int f, const float* scores, int padded, int64_t first) const {
    const float* worst = unit.scores + f * unit.k + unit.k - 1;
    const Vec top = lane_max(scores, padded);
    if (!any_above(top, *worst)) return;
    if (unit.rule == TopRule::kTile) {
      const float best = reduce_max(top);
      int j = 0;
      while (j < padded - 1 && scores[j] != best) ++j;
      insert(f, best, static_cast<int32_t>(first + j));
      return;
    }
    for (int j = 0; j < padded; j += kLanes) {
      if (!any_above(load(scores + j), *worst)) continue;
      for (int i = j; i < j + kLanes; ++i) {
        if (scores[i] > *worst) insert(f, scores[i], static_cast<int32_t>(first + i));
      }
    }
  }

 private:
  void insert(int f, float score, int32_t key) const {
    float* scores = unit.scores + f * unit.k;
    int32_t* keys = unit.keys + f * unit.k;
    int at = unit.k - 1;
    for (; at > 0 && score > scores[at - 1]; --at) {
      scores[at] = scores[at - 1];
      keys[at] = keys[at - 1];
    }
    scores[at] = score;
    keys[at] = key;
  }
};

}  // namespace longhaul::LH_ISA
