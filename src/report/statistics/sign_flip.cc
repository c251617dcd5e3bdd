#include "report/statistics/sign_flip.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace longhaul {
namespace {

// Among the k absolute differences let s be the sum of those with the less frequent sign. A choice
// of signs is as extreme as the observed one if the sum of its smaller side is at most s, on either
// side. p is therefore twice the share of subsets with a sum of at most s.

constexpr size_t kMostListed = 32;
constexpr int kMostParts = 5040;             // divisible by 1 to 10
constexpr double kMostSteps = 1 << 26;       // for a distribution on a common step: about 30 ms
constexpr int64_t kRoundedPoints = 1 << 15;  // for a distribution on rounded differences

double probability(double both_sides) {
  // p is never 0, even if 2^-k underflows.
  return std::clamp(both_sides, std::numeric_limits<double>::min(), 1.0);
}

/// All subset sums, ascending.
std::vector<double> subset_sums(std::span<const double> sizes) {
  std::vector<double> sums{0}, longer, both;
  for (const double size : sizes) {
    longer = sums;
    for (double& sum : longer) sum += size;
    both.resize(2 * sums.size());
    std::merge(sums.begin(), sums.end(), longer.begin(), longer.end(), both.begin());
    sums.swap(both);
  }
  return sums;
}

/// Counts every subset as a pair of subsets of the two halves.
double p_of_all_subsets(std::span<const double> sizes, double lesser, double total) {
  const size_t half = sizes.size() / 2;
  const std::vector<double> one = subset_sums(sizes.first(half));
  const std::vector<double> other = subset_sums(sizes.subspan(half));
  const double most = lesser + 1e-12 * total;  // sums that differ only by rounding count as equal
  uint64_t count = 0;
  size_t fitting = other.size();
  for (const double sum : one) {
    while (fitting > 0 && sum + other[fitting - 1] > most) --fitting;
    count += fitting;
  }
  return probability(2 * std::ldexp(static_cast<double>(count), -static_cast<int>(sizes.size())));
}

/// The distribution of the subsets' sums, up to the sum of the smaller side.
double p_on_grid(std::span<const int64_t> differences) {
  int64_t total = 0, sum = 0;
  for (const int64_t d : differences) {
    total += std::abs(d);
    sum += d;
  }
  const auto most = static_cast<size_t>((total - std::abs(sum)) / 2);
  std::vector<double> share(most + 1, 0.0), next(most + 1);
  share[0] = 1;
  for (const int64_t d : differences) {
    const size_t size = std::min(static_cast<size_t>(std::abs(d)), most + 1);
    for (size_t i = 0; i < size; ++i) next[i] = share[i] / 2;
    for (size_t i = size; i <= most; ++i) next[i] = (share[i] + share[i - size]) / 2;
    share.swap(next);
  }
  return probability(2 * std::accumulate(share.begin(), share.end(), 0.0));
}

/// The differences in multiples of 1/q for the smallest possible q; none if there is no such q.
std::optional<std::vector<int64_t>> in_common_steps(std::span<const double> differences) {
  const auto whole = [](double v) { return std::abs(v - std::round(v)) < 1e-7; };
  for (int parts = 1; parts <= kMostParts; ++parts) {
    if (!std::ranges::all_of(differences, [&](double d) { return whole(d * parts); })) continue;
    std::vector<int64_t> steps;
    for (const double d : differences) steps.push_back(std::llround(d * parts));
    return steps;
  }
  return std::nullopt;
}

/// Rounds the differences and carries each rounding error over to the next one.
std::vector<int64_t> rounded(std::span<const double> differences, double total) {
  std::vector<int64_t> points;
  double left = 0;
  for (const double d : differences) {
    const double wanted = d / total * static_cast<double>(kRoundedPoints) + left;
    points.push_back(std::llround(wanted));
    left = wanted - static_cast<double>(points.back());
  }
  return points;
}

}  // namespace

double sign_flip_p(std::span<const double> values) {
  std::vector<double> differences, sizes;
  double sum = 0, total = 0;
  for (const double v : values) {
    if (v == 0) continue;
    differences.push_back(v);
    sizes.push_back(std::abs(v));
    sum += v;
    total += std::abs(v);
  }
  if (differences.empty()) return 1;
  if (sizes.size() <= kMostListed) {
    return p_of_all_subsets(sizes, (total - std::abs(sum)) / 2, total);
  }
  if (const auto steps = in_common_steps(differences)) {
    const double size = static_cast<double>(differences.size());
    const double reach = (total - std::abs(sum)) / total / 2 *
                         std::accumulate(steps->begin(), steps->end(), 0.0, [](double all, auto s) {
                           return all + std::abs(static_cast<double>(s));
                         });
    if (size * reach <= kMostSteps) return p_on_grid(*steps);
  }
  return p_on_grid(rounded(differences, total));
}

}  // namespace longhaul
