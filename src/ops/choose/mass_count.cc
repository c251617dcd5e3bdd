#include "ops/choose/mass_count.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace longhaul {

int64_t count_within_mass(std::span<float> scores, double mass) {
  // nth_element needs a total order, which NaN (from damaged weights or keys) would break.
  for (float& score : scores) score = std::isnan(score) ? 0.0f : score;
  // Invariant: scores before `low` are the best and fit into the mass; scores from `high` on do
  // not.
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
