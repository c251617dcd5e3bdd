#include <gtest/gtest.h>

#include <vector>

#include "ops/core/columns.h"

namespace longhaul {
namespace {

TEST(MultiplyColumns, EachRowByTheSameFactors) {
  const std::vector<float> factors = {2, -1, 0.5f};
  std::vector<float> x = {1, 2, 4, 3, 5, 8};
  multiply_columns(host_queue(), View<const float>(factors.data(), 3),
                   View<float>(x.data(), std::ssize(x)));
  EXPECT_EQ(x, (std::vector<float>{2, -2, 2, 6, -5, 4}));
}

}  // namespace
}  // namespace longhaul
