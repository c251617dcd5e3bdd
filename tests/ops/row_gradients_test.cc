// Gradients of operations on rows, compared with their formulas in double precision.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "isa_fixture.h"
#include "ops/grad/rms_norm_backward.h"
#include "ops/grad/swiglu_backward.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

std::vector<float> random_inputs(int64_t count, uint32_t seed, float spread = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.1f, spread);
  std::vector<float> x(static_cast<size_t>(count));
  for (float& value : x) value = normal(random);
  return x;
}

/// The function whose gradients are tested: sum over i of dy[i] y[i](x) in double precision.
double normed_product(const std::vector<double>& x, const float* w, const float* dy, double eps) {
  double squares = 0, sum = 0;
  for (const double value : x) squares += value * value;
  const double r = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  for (size_t i = 0; i < x.size(); ++i) sum += dy[i] * w[i] * x[i] * r;
  return sum;
}

TEST(RmsNormBackward, IsTheDerivativeInEveryElement) {
  at_every_isa([] {
    for (const int64_t n : {1, 15, 64, 100, 384}) {
      const int64_t rows = 3;
      const std::vector<float> x = random_inputs(rows * n, 1, 2), w = random_inputs(n, 2);
      const std::vector<float> dy = random_inputs(rows * n, 3);
      std::vector<float> dx(x.size());
      rms_norm_backward(host_queue(), view_of(x), view_of(w), 1e-5f, view_of(dy), rows, n,
                        view_of(dx), false);
      for (int64_t r = 0; r < rows; ++r) {
        std::vector<double> row(x.begin() + r * n, x.begin() + (r + 1) * n);
        for (size_t i = 0; i < row.size(); ++i) {
          const double at = row[i], step = 1e-5;
          row[i] = at + step;
          const double up = normed_product(row, w.data(), dy.data() + r * n, 1e-5);
          row[i] = at - step;
          const double down = normed_product(row, w.data(), dy.data() + r * n, 1e-5);
          row[i] = at;
          ASSERT_NEAR(dx[static_cast<size_t>(r * n) + i], (up - down) / (2 * step), 2e-5) << n;
        }
      }
    }
  });
}

TEST(RmsNormBackward, AddsAndWorksInPlace) {
  at_every_isa([] {
    const int64_t n = 33, rows = 700;
    const std::vector<float> x = random_inputs(rows * n, 1), w = random_inputs(n, 2);
    const std::vector<float> dy = random_inputs(rows * n, 3), before = random_inputs(rows * n, 4);
    std::vector<float> alone(dy.size()), added = before, in_place = dy;
    rms_norm_backward(host_queue(), view_of(x), view_of(w), 1e-5f, view_of(dy), rows, n,
                      view_of(alone), false);
    rms_norm_backward(host_queue(), view_of(x), view_of(w), 1e-5f, view_of(dy), rows, n,
                      view_of(added), true);
    rms_norm_backward(host_queue(), view_of(x), view_of(w), 1e-5f, view_of(in_place), rows, n,
                      view_of(in_place), false);
    for (size_t i = 0; i < dy.size(); ++i) {
      ASSERT_EQ(in_place[i], alone[i]);
      ASSERT_NEAR(added[i], before[i] + alone[i], 1e-5);
    }
  });
}

TEST(SwigluBackward, IsTheDerivativeAlsoFarFromZero) {
  const auto silu = [](double g) { return g / (1 + std::exp(-g)); };
  at_every_isa([&] {
    std::vector<float> gate = random_inputs(1003, 1, 4), up = random_inputs(1003, 2);
    const std::vector<float> dy = random_inputs(1003, 3);
    for (const float far : {-500.0f, -90.0f, -20.0f, 0.0f, 20.0f, 90.0f, 500.0f}) {
      gate[static_cast<size_t>(far + 500)] = far;
    }
    std::vector<float> d_gate(gate.size()), d_up(gate.size());
    swiglu_backward(host_queue(), view_of(gate), view_of(up), view_of(dy), view_of(d_gate),
                    view_of(d_up));
    for (size_t i = 0; i < gate.size(); ++i) {
      const double g = gate[i], step = 1e-5;
      const double slope = (silu(g + step) - silu(g - step)) / (2 * step);
      ASSERT_NEAR(d_gate[i], dy[i] * up[i] * slope, 1e-4) << g;
      ASSERT_NEAR(d_up[i], dy[i] * silu(g), 1e-5 * std::max(1.0, std::abs(g))) << g;
    }
    swiglu_backward(host_queue(), view_of(gate), view_of(up), view_of(dy), view_of(gate),
                    view_of(up));
    EXPECT_EQ(gate, d_gate);
    EXPECT_EQ(up, d_up);
  });
}

}  // namespace
}  // namespace longhaul
