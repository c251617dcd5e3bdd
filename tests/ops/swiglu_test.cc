#include "ops/core/swiglu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "isa_fixture.h"

namespace longhaul {
namespace {

TEST(Swiglu, EqualsTheExponentialInDouble) {
  at_every_isa([] {
    std::vector<float> gate, up;
    for (float g = -87; g < 120; g += 0.00371f) {
      gate.push_back(g);
      up.push_back(1 + g / 64);
    }
    const auto n = static_cast<int64_t>(gate.size());
    std::vector<float> y(gate.size());
    std::vector<bf16_t> half(gate.size());
    swiglu(gate.data(), up.data(), 1, n, n, y.data());
    swiglu(gate.data(), up.data(), 1, n, n, half.data());
    for (size_t i = 0; i < gate.size(); ++i) {
      const double g = gate[i], want = g / (1 + std::exp(-g)) * up[i];
      ASSERT_NEAR(y[i], want, 3.6e-7 * std::abs(want)) << g;  // six roundings of 2^-24
      ASSERT_EQ(half[i], f32_to_bf16(y[i])) << g;
    }
  });
}

TEST(Swiglu, OtherGatingsEqualTheirFormulas) {
  at_every_isa([] {
    std::vector<float> gate, up;
    for (float g = -20; g < 20; g += 0.0371f) {
      gate.push_back(g);
      up.push_back(9 - g);
    }
    const auto n = static_cast<int64_t>(gate.size());
    std::vector<float> gelu(gate.size()), clamped(gate.size());
    swiglu(gate.data(), up.data(), 1, n, n, gelu.data(), kGeluGating);
    swiglu(gate.data(), up.data(), 1, n, n, clamped.data(), kClampedGating);
    for (size_t i = 0; i < gate.size(); ++i) {
      const double g = gate[i], u = up[i];
      const double t = std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g));
      ASSERT_NEAR(gelu[i], 0.5 * g * (1 + t) * u, 2e-5 * (1 + std::abs(g * u))) << g;
      const double most = std::min(g, 7.0), v = std::clamp(u, -7.0, 7.0);
      ASSERT_NEAR(clamped[i], most / (1 + std::exp(-1.702 * most)) * (v + 1), 1e-5 * (1 + 8 * 7))
          << g;
    }
  });
}

TEST(Swiglu, RowsWithAStrideAndInPlace) {
  at_every_isa([] {
    const int64_t rows = 37, n = 19;
    std::vector<float> fused(rows * 2 * n), split(rows * n), up(rows * n), y(rows * n);
    for (int64_t i = 0; i < rows * n; ++i) {
      const auto k = static_cast<size_t>(i), at = static_cast<size_t>(i / n * 2 * n + i % n);
      split[k] = fused[at] = static_cast<float>(i % 13) - 6;
      up[k] = fused[at + n] = static_cast<float>(i % 7) - 3;
    }
    swiglu(fused.data(), fused.data() + n, rows, n, 2 * n, y.data());
    swiglu(split.data(), up.data(), rows, n, n, split.data());
    EXPECT_EQ(y, split);
    const double gate = 2 * n % 13 - 6, want = gate / (1 + std::exp(-gate)) * (2 * n % 7 - 3);
    EXPECT_NEAR(y[2 * n], want, 1e-6);
  });
}

TEST(Swiglu, FarNegativeGatesVanishAndNanStays) {
  at_every_isa([] {
    const std::vector<float> gate = {-89, -1e4f, -1e30f, 1e30f, NAN}, up(5, 1.0f);
    std::vector<float> y(5);
    swiglu(gate.data(), up.data(), 1, 5, 5, y.data());
    EXPECT_NEAR(y[0], 0, 1e-35);
    EXPECT_NEAR(y[1], 0, 1e-33);
    EXPECT_LE(std::abs(y[2]), 1e-8f);
    EXPECT_EQ(y[3], 1e30f);
    EXPECT_TRUE(std::isnan(y[4]));
  });
}

}  // namespace
}  // namespace longhaul
