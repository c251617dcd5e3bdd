#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace longhaul::testing_support {

/// Indices of the k highest scores in ascending order. Of equal scores the first is chosen.
inline std::vector<int64_t> best_by_definition(const std::vector<double>& scores, int64_t k) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<size_t>(k)));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace longhaul::testing_support
