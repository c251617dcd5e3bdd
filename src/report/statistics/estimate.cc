#include "report/statistics/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "report/statistics/distributions.h"

namespace longhaul {

Interval wilson_interval(int64_t successes, int64_t n) {
  LH_ASSERT(n > 0 && successes >= 0 && successes <= n);
  constexpr double z = kNormal975;
  const double count = static_cast<double>(n);
  const double share = static_cast<double>(successes) / count;
  const double centre = (share + z * z / (2 * count)) / (1 + z * z / count);
  const double half = z / (1 + z * z / count) *
                      std::sqrt(share * (1 - share) / count + z * z / (4 * count * count));
  // Rounding must not leave 1e-17 at an exact bound.
  return {successes == 0 ? 0 : centre - half, successes == n ? 1 : centre + half};
}

Estimate estimate_mean(std::span<const double> values, bool share) {
  Estimate e;
  e.n = static_cast<int64_t>(values.size());
  if (values.empty()) return e;
  e.mean = mean_of(values);
  if (share && std::ranges::all_of(values, [](double v) { return v == 0 || v == 1; })) {
    e.interval = wilson_interval(std::ranges::count(values, 1.0), e.n);
    return e;
  }
  if (e.n < 2) return e;
  double squares = 0;
  for (const double v : values) squares += (v - e.mean) * (v - e.mean);
  const double count = static_cast<double>(e.n);
  const double half =
      student_t_quantile(0.975, count - 1) * std::sqrt(squares / (count - 1) / count);
  e.interval = Interval{e.mean - half, e.mean + half};
  if (share) e.interval = Interval{std::max(0.0, e.mean - half), std::min(1.0, e.mean + half)};
  return e;
}

double mean_of(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace longhaul
