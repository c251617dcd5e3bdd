#pragma once
// Tests whether two ways of answering the same samples differ. Every test is paired and
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
  /// 95 % interval of the difference; there is none for a single pair with values other than 0 and
  /// 1
  std::optional<Interval> interval;
  double p = 1;           ///< two-sided
  int64_t higher = 0;     ///< pairs with b above a
  int64_t lower = 0;      ///< pairs with b below a
  std::string_view test;  ///< name of the test that gave p
};

/// Compares a and b, in which a[i] and b[i] belong to the same sample. Their sizes must be equal
/// and above 0. If all values are 0 or 1, it uses McNemar's exact test and Newcombe's paired score
/// interval (1998, method 10). Otherwise it uses the sign-flip permutation test of the mean
/// (sign_flip.h) and, for 10 pairs or more, the percentile bootstrap of the mean with seeded
/// resamples. With fewer pairs a bootstrap interval would be too narrow, so Student's t interval is
/// used.
PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   uint64_t seed = 1);

/// Parts of paired_difference(), declared for tests. `both`, `only_a`, `only_b` and `neither` are
/// the numbers of pairs with the value 1 in both, only in a, only in b, and in neither.
Interval newcombe_paired_interval(int64_t both, int64_t only_b, int64_t only_a, int64_t neither);
Interval bootstrap_mean_interval(std::span<const double> values, uint64_t seed);

/// Returns p values adjusted by Holm's step-down correction, in the given order.
std::vector<double> holm_adjusted(std::span<const double> p);

}  // namespace longhaul
