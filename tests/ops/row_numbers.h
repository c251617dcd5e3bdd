#pragma once
// Random values of several kinds for tests of selections.

#include <cmath>
#include <random>
#include <vector>

namespace longhaul::testing_support {

using RuleNumbers = std::vector<float>;

/// Values with a normal distribution, with many ties, all equal, or including NaN.
inline RuleNumbers numbers_of_kind(int kind, int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  RuleNumbers numbers(static_cast<size_t>(count));
  for (float& x : numbers) {
    x = std::abs(normal(random));
    if (kind == 1) x = std::round(2 * x) / 4;
    if (kind == 2) x = 1;
    if (kind == 3 && random() % 3 == 0) x = NAN;
  }
  return numbers;
}

}  // namespace longhaul::testing_support
