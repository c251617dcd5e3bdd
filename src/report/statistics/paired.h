#pragma once
// Tests whether two lists of scores of the same samples differ in their mean. All tests are paired,
// and their results are reproducible.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "report/statistics/estimate.h"

namespace longhaul {

struct PairedDifference {
  int64_t n = 0;  ///< number of pairs
  double mean_a = 0, mean_b = 0;
  double difference = 0;  ///< mean of b minus a
  /// 95 % interval of the difference. There is none for a single pair whose values are not 0 or 1.
  std::optional<Interval> interval;
  double p = 1;           ///< two-sided p value
  int64_t higher = 0;     ///< number of pairs with b above a
  int64_t lower = 0;      ///< number of pairs with b below a
  std::string_view test;  ///< name of the test that computed p
};

/// Compares a and b. a[i] and b[i] belong to the same sample. a and b must have equal, positive
/// sizes. If all values are 0 or 1, McNemar's exact test and Newcombe's paired score interval
/// (1998, method 10) are used. Otherwise the sign-flip permutation test of the mean is used
/// (sign_flip.h). The interval is then a percentile bootstrap interval of the mean, with `seed` for
/// the resampling. With fewer than 10 pairs, such an interval would be too narrow, so Student's t
/// interval is used.
PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   uint64_t seed = 1);

/// paired_difference() uses the following two functions. They are declared here for tests. `both`,
/// `only_a`, `only_b` and `neither` are the numbers of pairs with the value 1 in both, only in a,
/// only in b, and in neither.
Interval newcombe_paired_interval(int64_t both, int64_t only_b, int64_t only_a, int64_t neither);
Interval bootstrap_mean_interval(std::span<const double> values, uint64_t seed);

/// Adjusts p values by Holm's step-down correction for multiple tests. The result has the same
/// order as `p`.
std::vector<double> holm_adjusted(std::span<const double> p);

}  // namespace longhaul
