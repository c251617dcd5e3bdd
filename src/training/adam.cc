#include "training/adam.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace longhaul {

void Adam::step(const std::vector<double>& gradient, double rate, std::vector<double>& x) {
  constexpr double kMeanDecay = 0.9, kSquareDecay = 0.999, kEpsilon = 1e-8;
  LH_ASSERT(gradient.size() == mean_.size() && x.size() == mean_.size());
  ++steps_;
  const double mean_share = 1 - std::pow(kMeanDecay, steps_);
  const double square_share = 1 - std::pow(kSquareDecay, steps_);
  for (size_t i = 0; i < x.size(); ++i) {
    mean_[i] = kMeanDecay * mean_[i] + (1 - kMeanDecay) * gradient[i];
    square_[i] = kSquareDecay * square_[i] + (1 - kSquareDecay) * gradient[i] * gradient[i];
    x[i] -= rate * (mean_[i] / mean_share) / (std::sqrt(square_[i] / square_share) + kEpsilon);
  }
}

double learning_rate_share(int64_t step, int64_t steps) {
  constexpr double kLeast = 0.1;
  const double fifth = std::max(1.0, static_cast<double>(steps) / 5);
  const double risen = static_cast<double>(step + 1) / fifth;
  const double left = static_cast<double>(steps - step) / fifth;
  return std::min({1.0, std::max(risen, kLeast), std::max(left, kLeast)});
}

}  // namespace longhaul
