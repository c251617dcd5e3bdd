#include "ops/attention/query_growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace longhaul {
namespace {

TEST(QueryGrowth, IsLogarithmicInWholeLengths) {
  const int64_t rows = 100, n = 3, first = 70;
  std::vector<float> x(static_cast<size_t>(rows * n), 2.0f);
  grow_queries(x.data(), rows, n, first, {.length = 50, .rate = 0.1f});
  for (int64_t r = 0; r < rows; ++r) {
    // Rows 0 to 29 are within the second 50 positions, rows 30 to 79 within the third.
    const double lengths = r < 30 ? 1 : r < 80 ? 2 : 3;
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_NEAR(x[static_cast<size_t>(r * n + i)], 2 * (1 + 0.1 * std::log(1 + lengths)), 1e-6)
          << r;
    }
  }
}

TEST(QueryGrowth, LeavesTheFirstLengthAsItIs) {
  const std::vector<float> before = {1.5f, -2.25f};
  std::vector<float> x = before;
  grow_queries(x.data(), 2, 1, 48, {.length = 50, .rate = 0.1f});
  EXPECT_EQ(x, before);
}

}  // namespace
}  // namespace longhaul
