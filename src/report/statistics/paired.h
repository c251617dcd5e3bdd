#pragma once
// Tests for a difference between two ways of answering the same samples. Every test is paired and
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
  double difference = 0;  ///< mean of b - a
  /// 95 %, for the difference; none: a single pair that is not 0 or 1
  std::optional<Interval> interval;
  double p = 1;           ///< two-sided
  int64_t higher = 0;     ///< pairs with b above a
  int64_t lower = 0;      ///< pairs with b below a
  std::string_view test;  ///< name of the test that gave p
};

/// a[i] and b[i] belong to the same sample; sizes are equal and above 0. With only zeros and ones:
/// McNemar's exact test and Newcombe's paired score interval (1998, method 10). Otherwise the
/// sign-flip permutation test of the mean (sign_flip.h) and, for 10 pairs or more, the percentile
/// bootstrap of the mean with seeded resamples. For fewer pairs a bootstrap would be too narrow, so
/// Student's t interval is used.
PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   uint64_t seed = 1);

/// Parts of it, for tests. `both`: pairs with 1 in both; `only_a`, `only_b`: in one; `neither`.
Interval newcombe_paired_interval(int64_t both, int64_t only_b, int64_t only_a, int64_t neither);
Interval bootstrap_mean_interval(std::span<const double> values, uint64_t seed);

/// Holm's step-down correction: adjusted p values, in the order given.
std::vector<double> holm_adjusted(std::span<const double> p);

}  // namespace longhaul
