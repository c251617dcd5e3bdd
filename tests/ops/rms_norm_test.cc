#include "ops/core/rms_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "isa_fixture.h"

namespace longhaul {
namespace {

std::vector<float> random_rows(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.5f, 2);
  std::vector<float> x(static_cast<size_t>(count));
  for (float& value : x) value = normal(random);
  return x;
}

std::vector<double> plain_norm(const std::vector<float>& x, const std::vector<float>& w,
                               float eps) {
  const size_t n = w.size();
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += n) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += static_cast<double>(x[row + i]) * x[row + i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(n) + static_cast<double>(eps));
    for (size_t i = 0; i < n; ++i) y[row + i] = x[row + i] * scale * static_cast<double>(w[i]);
  }
  return y;
}

TEST(RmsNorm, EqualsTheDoubleLoopInBothOutputTypesAndInPlace) {
  at_every_isa([] {
    for (const int64_t n : {1, 15, 64, 100, 576, 4096}) {
      const int64_t rows = 23;
      std::vector<float> x = random_rows(rows * n, 1);
      const std::vector<float> w = random_rows(n, 2);
      const std::vector<double> expected = plain_norm(x, w, 1e-5f);
      std::vector<bf16_t> half(x.size());
      rms_norm(x.data(), w.data(), 1e-5f, rows, n, half.data());
      rms_norm(x.data(), w.data(), 1e-5f, rows, n, x.data());
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_NEAR(x[i], expected[i], 1e-6 * std::abs(expected[i])) << n;
        ASSERT_EQ(half[i], f32_to_bf16(x[i])) << n;
      }
    }
  });
}

TEST(RmsNorm, EpsilonKeepsRowsOfZerosFinite) {
  at_every_isa([] {
    std::vector<float> x(40, 0.0f), w(40, 1.0f);
    rms_norm(x.data(), w.data(), 1e-6f, 1, 40, x.data());
    for (const float value : x) EXPECT_EQ(value, 0.0f);
  });
}

TEST(RmsNorm, HeadsLeaveTheRestOfAFusedRowAlone) {
  at_every_isa([] {
    const int64_t tokens = 300, heads = 3, dim = 64, stride = heads * dim + 5;
    const std::vector<float> before = random_rows(tokens * stride, 3), w = random_rows(dim, 4);
    std::vector<float> x = before;
    rms_norm_heads(x.data(), w.data(), 1e-6f, tokens, heads, dim, stride);
    for (int64_t t = 0; t < tokens; ++t) {
      const auto row = before.begin() + t * stride;
      const std::vector<double> expected = plain_norm({row, row + heads * dim}, w, 1e-6f);
      for (int64_t i = 0; i < stride; ++i) {
        const double want = i < heads * dim ? expected[static_cast<size_t>(i)] : row[i];
        ASSERT_NEAR(x[static_cast<size_t>(t * stride + i)], want, 1e-6 * std::abs(want));
      }
    }
  });
}

}  // namespace
}  // namespace longhaul
