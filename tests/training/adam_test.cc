#include "training/adam.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

TEST(LearningRate, RisesAndFallsAsPublished) {
  const auto rate = [](int64_t step) { return 0.02 * learning_rate_share(step, 2000); };
  EXPECT_NEAR(rate(0), 0.002, 1e-12);
  EXPECT_NEAR(rate(38), 0.002, 1e-12);
  EXPECT_NEAR(rate(199), 0.01, 1e-12);
  EXPECT_NEAR(rate(399), 0.02, 1e-12);
  EXPECT_NEAR(rate(1600), 0.02, 1e-12);
  EXPECT_NEAR(rate(1601), 0.01995, 1e-12);
  EXPECT_NEAR(rate(1800), 0.01, 1e-12);
  EXPECT_NEAR(rate(1999), 0.002, 1e-12);
}

/// torch.optim.AdamW(lr=0.02, weight_decay=0) from x = (1, 0.5) with these gradients.
TEST(Adam, StepsAsTorchDoes) {
  std::vector<double> x{1, 0.5};
  Adam adam(2);
  adam.step({0.1, -3}, 0.02, x);
  adam.step({0.3, -1}, 0.02, x);
  adam.step({-0.2, 0}, 0.02, x);
  EXPECT_NEAR(x[0], 0.956486304578, 1e-9);
  EXPECT_NEAR(x[1], 0.550887977967, 1e-9);
}

}  // namespace
}  // namespace longhaul
