#pragma once
// Determines how many of the best scores hold a given share of the sum of all scores
// (ops/choose/mass_count.h), in phases (ops/core/gpu/block.h). Sums are in double precision and in
// a fixed order.

#include "ops/choose/select_phases.h"

namespace longhaul::cuda {

struct MassShared {
  /// Number of bits of the boundary that each step of the search determines.
  static constexpr int kBits = 3, kDigits = 1 << kBits;
  SumShared<kDigits> sums;
  /// The boundary is a sort key (order_key() in select_phases.h) and is searched in [low, high).
  /// Scores with sort keys from `high` on are already counted.
  uint64_t low, high;
  double taken_mass;  ///< sum of the counted scores
  int64_t taken;      ///< number of counted scores; after the search, the result
  bool all;           ///< whether the scores with sort keys in [low, high) are counted as well
};

/// Returns the score, or zero if the score is negative or NaN.
LH_BOTH float mass_of(float score) { return score > 0 ? score : 0.0f; }

/// Returns the score whose order_key() (select_phases.h) is `key`. The score must not be negative.
LH_BOTH float score_of_key(uint64_t key) {
  return float_of(static_cast<uint32_t>(key) & 0x7fffffffu);
}

/// Adds the scores score_of(0), ..., score_of(n - 1) in descending order as long as their sum is at
/// most `mass`. Stores in s.taken how many were added.
template <class Block, class ScoreOf>
LH_PHASES void count_within_mass(const Block& block, MassShared& s, int64_t n, double mass,
                                 ScoreOf&& score_of) {
  constexpr int kBits = MassShared::kBits, kDigits = MassShared::kDigits;
  block.each([&](int t) {
    if (t == 0) s.low = 0, s.high = uint64_t{1} << 33, s.taken_mass = 0, s.all = false;
  });
  for (int shift = 30; shift >= 0 && !s.all; shift -= kBits) {
    const uint64_t low = s.low, high = s.high;
    block.template sums<kDigits>(s.sums, [&](int t, double* sums) {
      for (int64_t i = t; i < n; i += kBlockThreads) {
        const float x = mass_of(score_of(i));
        const uint64_t key = order_key(x);
        if (key < low || key >= high) continue;
        const int digit = static_cast<int>((key - low) >> shift);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (int d = 0; d < kDigits; ++d) sums[d] += d == digit ? static_cast<double>(x) : 0.0;
      }
    });
    block.each([&](int t) {
      if (t != 0) return;
      int digit = kDigits - 1;
      for (; digit >= 0 && s.taken_mass + s.sums.all[digit] <= mass; --digit) {
        s.taken_mass += s.sums.all[digit];
      }
      s.all = digit < 0;
      if (s.all) {
        s.high = low;
      } else {
        s.high = low + (static_cast<uint64_t>(digit + 1) << shift);
        s.low = low + (static_cast<uint64_t>(digit) << shift);
      }
    });
  }
  // Scores with sort keys from `high` on are counted. `tie` is the sort key of equal scores, of
  // which only some may fit.
  const uint64_t high = s.high, tie = s.low;
  const bool all = s.all;
  block.template sums<kDigits>(s.sums, [&](int t, double* sums) {
    for (int64_t i = t; i < n; i += kBlockThreads) {
      const float x = mass_of(score_of(i));
      const uint64_t key = order_key(x);
      sums[0] += key >= high ? 1 : 0;
      sums[1] += !all && key == tie ? 1 : 0;
    }
  });
  block.each([&](int t) {
    if (t != 0) return;
    const double equals = s.sums.all[1], each = static_cast<double>(score_of_key(tie));
    // If `tie` is the sort key of zero, the quotient is infinite or NaN. In this case all scores
    // are counted, so `equals` and `more` are 0.
    const double room = (mass - s.taken_mass) / each;
    const double more = room > 0 ? (room < equals ? room : equals) : 0;
    s.taken = static_cast<int64_t>(s.sums.all[0]) + static_cast<int64_t>(more);
  });
}

}  // namespace longhaul::cuda
