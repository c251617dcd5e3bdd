#pragma once
// Estimates a mean with its 95 % interval.

#include <cstdint>
#include <optional>
#include <span>

namespace longhaul {

struct Interval {
  double low = 0, high = 0;
};

/// Returns Wilson's score interval of a proportion (Wilson 1927), without continuity correction. n
/// must be above 0. The interval lies within 0..1, and is also valid if all or none succeed.
Interval wilson_interval(int64_t successes, int64_t n);

struct Estimate {
  int64_t n = 0;
  double mean = 0;
  std::optional<Interval> interval;  ///< none: one value that is neither 0 nor 1, or no value
};

/// Returns the mean. If all values are 0 or 1, the interval is Wilson's. Otherwise it is Student's
/// t interval. With `share`, values must be in 0..1 and the interval is clipped to 0..1.
Estimate estimate_mean(std::span<const double> values, bool share);

double mean_of(std::span<const double> values);  ///< 0 without values

}  // namespace longhaul
