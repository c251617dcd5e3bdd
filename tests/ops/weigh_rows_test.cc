#include "ops/matmul/weigh_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace longhaul {
namespace {

TEST(WeighRows, TheBestLogitOfARowIsItsFactor) {
  const std::vector<float> logits = {0, 1, -1, -3, -2, -7}, x = {1, 2, -4, 8};
  std::vector<float> y(4);
  weigh_rows(host_queue(), std::span(logits), std::span(x), 2, std::span(y));
  const auto sigmoid = [](float v) { return 1 / (1 + std::exp(-v)); };
  const float want[] = {sigmoid(1), 2 * sigmoid(1), -4 * sigmoid(-2), 8 * sigmoid(-2)};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-6f);
}

}  // namespace
}  // namespace longhaul
