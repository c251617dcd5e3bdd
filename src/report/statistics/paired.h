#pragma once
// Tests whether two ways of answering the same samples differ. All tests are paired and
// deterministic.

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
  /// 95 % interval of the difference; there is none for a single pair with values other than 0 and
  /// 1
  std::optional<Interval> interval;
  double p = 1;           ///< two-sided p value
  int64_t higher = 0;     ///< number of pairs in which b is above a
  int64_t lower = 0;      ///< number of pairs in which b is below a
  std::string_view test;  ///< name of the test that computed p
};

/// Compares a and b. a[i] and b[i] belong to the same sample. a and b must have equal, positive
/// sizes. If all values are 0 or 1, McNemar's exact test and Newcombe's paired score interval
/// (1998, method 10) are used. Otherwise the sign-flip permutation test of the mean (sign_flip.h)
/// is used. The interval is then the percentile bootstrap of the mean with seeded resamples if
/// there are at least 10 pairs. With fewer pairs a bootstrap interval would be too narrow, so
/// Student's t interval is used.
PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   uint64_t seed = 1);

/// Parts of paired_difference(), declared for tests. `both`, `only_a`, `only_b` and `neither` are
/// the numbers of pairs with the value 1 in both, only in a, only in b, and in neither.
Interval newcombe_paired_interval(int64_t both, int64_t only_b, int64_t only_a, int64_t neither);
Interval bootstrap_mean_interval(std::span<const double> values, uint64_t seed);

/// Returns p values that are adjusted by Holm's step-down correction, in the given order.
std::vector<double> holm_adjusted(std::span<const double> p);

}  // namespace longhaul
