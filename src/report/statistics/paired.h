#pragma once
// Is a difference between two ways of answering the same samples real? Every test is paired and
// deterministic.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "report/statistics/estimate.h"

namespace longhaul {

struct PairedDifference {
  int64_t n = 0;  ///< pairs
  double mean_a = 0, mean_b = 0;
  double difference = 0;             ///< mean of b - a
  std::optional<Interval> interval;  ///< 95 %, of the difference; none: one pair that is no 0 or 1
  double p = 1;                      ///< two-sided
  int64_t higher = 0;                ///< pairs in which b is above a
  int64_t lower = 0;                 ///< pairs in which b is below a
  std::string_view test;             ///< which one gave p
};

/// a[i] and b[i] belong to the same sample; sizes equal and above 0.
/// Only zeros and ones: McNemar's exact test and Newcombe's paired score interval (1998, method
/// 10). Else: the sign-flip permutation test of the mean (sign_flip.h) and, of 10 pairs or more,
/// the percentile bootstrap of the mean, with seeded resamples; of fewer pairs, for which a
/// bootstrap is too narrow, Student's t interval.
PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   uint64_t seed = 1);

/// The parts, for tests. `both`: pairs with 1 in both; `only_a`, `only_b`: in one; `neither`.
Interval newcombe_paired_interval(int64_t both, int64_t only_b, int64_t only_a, int64_t neither);
Interval bootstrap_mean_interval(std::span<const double> values, uint64_t seed);

/// Holm's step-down correction: adjusted p values, in the order given.
std::vector<double> holm_adjusted(std::span<const double> p);

}  // namespace longhaul
