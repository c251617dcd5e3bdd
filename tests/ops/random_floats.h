#pragma once
// Random inputs of operations.

#include <cstdint>
#include <random>
#include <vector>

namespace longhaul::testing_support {

/// Values with a normal distribution around 0.
inline std::vector<float> random_floats(int64_t count, uint32_t seed, float spread = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> x(static_cast<size_t>(count));
  for (float& value : x) value = normal(random);
  return x;
}

}  // namespace longhaul::testing_support
