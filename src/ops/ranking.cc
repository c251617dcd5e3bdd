#include "ops/ranking.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace longhaul {

std::vector<int32_t> top_indices(std::span<const float> scores, int64_t k) {
  LH_ASSERT(k >= 0);
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  if (k >= static_cast<int64_t>(order.size())) return order;
  const auto better = [&](int32_t a, int32_t b) {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::nth_element(order.begin(), order.begin() + k, order.end(), better);
  order.resize(static_cast<size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
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
