// The GPU's thresholds, found by a loop in place of threads.

#include "ops/choose/threshold_phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "ops/row_numbers.h"

namespace longhaul {
namespace {

using namespace testing_support;

TEST(ThresholdPhases, HoldTheBestAndOfEqualsTheLowerRows) {
  std::mt19937 random(1);
  const auto shared = std::make_unique<cuda::SelectShared>();
  for (const int64_t n : {1, 2, 65, 1024, 1025, 5000, 20000}) {
    for (int kind = 0; kind < 4; ++kind) {
      const RuleNumbers scores = numbers_of_kind(kind, n, random);
      std::vector<std::pair<uint32_t, int64_t>> order;
      for (int64_t i = 0; i < n; ++i) {
        order.push_back({~cuda::order_key(scores[static_cast<size_t>(i)]), i});
      }
      std::sort(order.begin(), order.end());
      for (const int64_t k : {int64_t{0}, int64_t{1}, n / 3, n - 1, n, n + 7}) {
        std::vector<int32_t> want;
        for (int64_t i = 0; i < std::min(k, n); ++i) {
          want.push_back(static_cast<int32_t>(100 + order[static_cast<size_t>(i)].second));
        }
        std::sort(want.begin(), want.end());
        const auto key = [&](int64_t i) { return cuda::order_key(scores[static_cast<size_t>(i)]); };
        const cuda::KeyThreshold best = cuda::find_threshold(cuda::HostBlock{}, *shared, n, k, key);
        std::vector<int32_t> got(want.size() + 1, -7);
        cuda::write_kept(cuda::HostBlock{}, *shared, n, 100, got.data(),
                         [&](int64_t i) { return best.holds(key(i), i); });
        EXPECT_EQ(got.back(), -7);
        got.pop_back();
        EXPECT_EQ(got, want) << k << " of " << n << ", kind " << kind;
        EXPECT_EQ(shared->more, want.size());
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
