#pragma once
// Estimates a mean with its 95 % interval.

#include <cstdint>
#include <optional>
#include <span>

namespace longhaul {

struct Interval {
  double low = 0, high = 0;
};

/// Returns Wilson's score interval of a proportion (Wilson 1927) without continuity correction. n
/// must be positive. The interval is within 0 to 1, and is also valid if `successes` is 0 or n.
Interval wilson_interval(int64_t successes, int64_t n);

struct Estimate {
  int64_t n = 0;
  double mean = 0;
  /// 95 % interval of the mean. There is none if there are no values, or only one value, which is
  /// neither 0 nor 1.
  std::optional<Interval> interval;
};

/// Returns the mean of `values` and its interval. If all values are 0 or 1, the interval is
/// wilson_interval(). Otherwise it is Student's t interval. If `share` is true, all values must be
/// from 0 to 1, and the interval is limited to this range.
Estimate estimate_mean(std::span<const double> values, bool share);

double mean_of(std::span<const double> values);  ///< returns 0 if there are no values

}  // namespace longhaul
