#include "ops/choose/mass_cut.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace longhaul {

int64_t count_within_mass(std::span<float> scores, double mass) {
  // NaN, which damaged weights or keys make, has no order that nth_element could rely on.
  for (float& score : scores) score = std::isnan(score) ? 0.0f : score;
  // Scores before `low` are the best and within the mass; those from `high` on are not within it.
  int64_t low = 0, high = static_cast<int64_t>(scores.size());
  double before = 0;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    const auto at = scores.begin();
    std::nth_element(at + low, at + middle, at + high, std::greater<>());
    const double sum = std::accumulate(at + low, at + middle + 1, before);
    if (sum <= mass) {
      before = sum;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace longhaul
