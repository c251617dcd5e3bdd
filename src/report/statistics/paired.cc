#include "report/statistics/paired.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "report/statistics/distributions.h"
#include "report/statistics/sign_flip.h"

namespace longhaul {
namespace {

bool zero_or_one(std::span<const double> values) {
  return std::ranges::all_of(values, [](double v) { return v == 0 || v == 1; });
}

bool shares(std::span<const double> values) {
  return std::ranges::all_of(values, [](double v) { return v >= 0 && v <= 1; });
}

std::optional<Interval> few_pairs_interval(std::span<const double> differences, bool of_shares) {
  std::optional<Interval> interval = estimate_mean(differences, false).interval;
  if (interval && of_shares) {
    interval->low = std::max(interval->low, -1.0);
    interval->high = std::min(interval->high, 1.0);
  }
  return interval;
}

double correlation(int64_t both, int64_t only_b, int64_t only_a, int64_t neither) {
  const double a = static_cast<double>(both), b = static_cast<double>(only_b),
               c = static_cast<double>(only_a), d = static_cast<double>(neither);
  const double margins = (a + b) * (c + d) * (a + c) * (b + d);
  if (margins == 0) return 0;
  const double half = (a + b + c + d) / 2;
  double numerator = a * d - b * c;
  if (numerator > half) {
    numerator -= half;
  } else if (numerator > 0) {
    numerator = 0;
  }
  return numerator / std::sqrt(margins);
}

}  // namespace

Interval newcombe_paired_interval(int64_t both, int64_t only_b, int64_t only_a, int64_t neither) {
  const int64_t n = both + only_b + only_a + neither;
  const double count = static_cast<double>(n);
  const double share_b = static_cast<double>(both + only_b) / count;
  const double share_a = static_cast<double>(both + only_a) / count;
  const Interval of_b = wilson_interval(both + only_b, n), of_a = wilson_interval(both + only_a, n);
  const double phi = correlation(both, only_b, only_a, neither);
  const auto length = [phi](double x, double y) {
    return std::sqrt(std::max(0.0, x * x - 2 * phi * x * y + y * y));
  };
  const double difference = share_b - share_a;
  return {difference - length(share_b - of_b.low, of_a.high - share_a),
          difference + length(of_b.high - share_b, share_a - of_a.low)};
}

Interval bootstrap_mean_interval(std::span<const double> values, uint64_t seed) {
  constexpr size_t kDraws = 4'000'000;
  const size_t resamples = std::clamp<size_t>(kDraws / values.size(), 2'000, 10'000);
  SplitMix64 random(seed);
  // Uses the high bits; the bias of size / 2^32 is far below the interval's own noise.
  const auto drawn = [&] {
    return static_cast<size_t>((random.next() >> 32) * values.size() >> 32);
  };
  std::vector<double> means(resamples);
  for (double& mean : means) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += values[drawn()];
    mean = sum / static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(resamples - 1);
    const size_t below = static_cast<size_t>(place);
    const double rest = place - static_cast<double>(below);
    return means[below] + rest * (means[std::min(below + 1, resamples - 1)] - means[below]);
  };
  return {at(0.025), at(0.975)};
}

PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   uint64_t seed) {
  LH_ASSERT(a.size() == b.size() && !a.empty());
  PairedDifference d;
  d.n = static_cast<int64_t>(a.size());
  d.mean_a = mean_of(a);
  d.mean_b = mean_of(b);
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    differences[i] = b[i] - a[i];
    d.higher += b[i] > a[i] ? 1 : 0;
    d.lower += b[i] < a[i] ? 1 : 0;
  }
  d.difference = mean_of(differences);
  if (zero_or_one(a) && zero_or_one(b)) {
    const int64_t ones_a = std::ranges::count(a, 1.0);
    const int64_t both = ones_a - d.lower;
    d.test = "McNemar, exact";
    d.p = sign_test_p(d.higher, d.higher + d.lower);
    d.interval = newcombe_paired_interval(both, d.higher, d.lower, d.n - both - d.higher - d.lower);
  } else {
    d.test = "sign-flip permutation";
    d.p = sign_flip_p(differences);
    constexpr size_t kFewestToResample = 10;
    d.interval = a.size() < kFewestToResample
                     ? few_pairs_interval(differences, shares(a) && shares(b))
                     : bootstrap_mean_interval(differences, seed);
  }
  return d;
}

std::vector<double> holm_adjusted(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return p[i] < p[j]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const double scaled = p[order[rank]] * static_cast<double>(p.size() - rank);
    largest = std::max(largest, std::min(1.0, scaled));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

}  // namespace longhaul
