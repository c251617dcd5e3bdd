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
/// must be positive. The interval is within 0 to 1, and is also valid if all or none succeed.
Interval wilson_interval(int64_t successes, int64_t n);

struct Estimate {
  int64_t n = 0;
  double mean = 0;
  /// There is no interval without values, or for a single value other than 0 and 1.
  std::optional<Interval> interval;
};

/// Returns the mean and its interval. If all values are 0 or 1, the interval is Wilson's. Otherwise
/// it is Student's t interval. If `share` is true, values must be from 0 to 1, and the interval is
/// clipped to this range.
Estimate estimate_mean(std::span<const double> values, bool share);

double mean_of(std::span<const double> values);  ///< returns 0 if there are no values

}  // namespace longhaul
