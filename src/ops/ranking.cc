#include "ops/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr int64_t kFew = 16;  ///< of so many times as many, a heap finds the best sooner

/// The best k of `order` (0, 1, 2, ...) come first. Few of many change the heap of those found so
/// far, so that most cost one comparison.
template <class Better>
void keep_best(std::vector<int32_t>& order, int64_t k, std::span<const float> scores,
               const Better& better) {
  const auto end = order.begin() + k;
  std::make_heap(order.begin(), end, better);  // the worst in front
  float worst = scores[static_cast<size_t>(order.front())];
  for (size_t i = static_cast<size_t>(k); i < scores.size(); ++i) {
    if (!(scores[i] > worst)) continue;
    std::pop_heap(order.begin(), end, better);
    *(end - 1) = static_cast<int32_t>(i);
    std::push_heap(order.begin(), end, better);
    worst = scores[static_cast<size_t>(order.front())];
  }
}

}  // namespace

std::vector<int32_t> top_indices(std::span<const float> scores, int64_t k) {
  LH_ASSERT(k >= 0);
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  if (k >= static_cast<int64_t>(order.size())) return order;
  // NaN, which damaged weights or keys make, has no order that nth_element could rely on.
  std::vector<float> ordered;
  if (std::any_of(scores.begin(), scores.end(), [](float x) { return std::isnan(x); })) {
    ordered.assign(scores.begin(), scores.end());
    for (float& x : ordered) x = std::isnan(x) ? -std::numeric_limits<float>::infinity() : x;
    scores = ordered;
  }
  const auto better = [&](int32_t a, int32_t b) {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  if (k > 0 && k < static_cast<int64_t>(order.size()) / kFew) {
    keep_best(order, k, scores, better);
  } else {
    std::nth_element(order.begin(), order.begin() + k, order.end(), better);
  }
  order.resize(static_cast<size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<int32_t> most_voted(std::span<const int32_t> votes, int64_t k,
                                std::vector<int32_t>& counters) {
  std::vector<int32_t> numbers;
  for (const int32_t vote : votes) {
    if (vote < 0) continue;
    const size_t at = static_cast<size_t>(vote);
    if (at >= counters.size()) counters.resize(2 * at + 1);
    if (counters[at]++ == 0) numbers.push_back(vote);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<float> counts;
  for (const int32_t number : numbers) {
    int32_t& count = counters[static_cast<size_t>(number)];
    counts.push_back(static_cast<float>(count));
    count = 0;
  }
  std::vector<int32_t> chosen = top_indices(counts, k);
  for (int32_t& i : chosen) i = numbers[static_cast<size_t>(i)];
  return chosen;
}

std::vector<float> pooled(std::span<const float> scores, int width, Pooling pooling) {
  LH_ASSERT(width > 0 && width % 2 == 1);
  const int64_t n = static_cast<int64_t>(scores.size()), reach = width / 2;
  std::vector<float> out(scores.size());
  for (int64_t i = 0; i < n; ++i) {
    const auto first = scores.begin() + std::max<int64_t>(0, i - reach);
    const auto last = scores.begin() + std::min(n, i + reach + 1);
    out[static_cast<size_t>(i)] =
        pooling == Pooling::kMax ? *std::max_element(first, last)
                                 : std::accumulate(first, last, 0.0f) / static_cast<float>(width);
  }
  return out;
}

}  // namespace longhaul
