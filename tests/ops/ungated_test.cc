// Functions of networks without a gate, and LayerNorm, compared with their definitions.

#include "ops/core/ungated.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/core/layer_norm.h"

namespace longhaul {
namespace {

std::vector<float> ramp(int count) {
  std::vector<float> x;
  for (int i = 0; i < count; ++i) x.push_back(0.37f * static_cast<float>((i * 7) % 31) - 5);
  return x;
}

TEST(Ungated, SquaredRelu) {
  const std::vector<float> x = ramp(20000);
  std::vector<float> y = x;
  activate(Ungated::kSquaredRelu, {}, y.data(), std::ssize(y));
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[i] > 0 ? x[i] * x[i] : 0);
}

TEST(Ungated, Xielu) {
  const std::vector<float> x = ramp(20000);
  const Xielu f = {.alpha_p = 0.8f, .alpha_n = 0.9f, .beta = 0.5f, .eps = -1e-6f};
  std::vector<float> y = x;
  activate(Ungated::kXielu, f, y.data(), std::ssize(y));
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double want =
        v > 0 ? 0.8 * v * v + 0.5 * v : (std::expm1(std::min(v, -1e-6)) - v) * 0.9 + 0.5 * v;
    ASSERT_NEAR(y[i], want, 1e-5 * std::max(1.0, std::abs(want))) << v;
  }
}

TEST(LayerNorm, EqualsItsDefinition) {
  constexpr int kRows = 3, kWidth = 50;
  const std::vector<float> x = ramp(kRows * kWidth), weight = ramp(kWidth);
  std::vector<float> y(x.size());
  layer_norm(x.data(), weight.data(), 1e-5f, kRows, kWidth, y.data());
  for (size_t r = 0; r < kRows; ++r) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < kWidth; ++i) mean += x[r * kWidth + i] / kWidth;
    for (size_t i = 0; i < kWidth; ++i) variance += std::pow(x[r * kWidth + i] - mean, 2) / kWidth;
    for (size_t i = 0; i < kWidth; ++i) {
      const double want = (x[r * kWidth + i] - mean) / std::sqrt(variance + 1e-5) * weight[i];
      ASSERT_NEAR(y[r * kWidth + i], want, 1e-4);
    }
  }
}

}  // namespace
}  // namespace longhaul
