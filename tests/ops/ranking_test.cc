#include "ops/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace longhaul {
namespace {

using Indices = std::vector<int32_t>;
using Scores = std::vector<float>;

TEST(TopIndices, AscendWithTheLowerIndexWinningTies) {
  EXPECT_EQ(top_indices(Scores{1, 5, 3, 5, 4}, 3), (Indices{1, 3, 4}));
  EXPECT_EQ(top_indices(Scores{2, 2, 2, 2}, 2), (Indices{0, 1}));
  EXPECT_EQ(top_indices(Scores{1, 2, 2, 0, 2}, 2), (Indices{1, 2}));
}

TEST(TopIndices, TakeWhatThereIs) {
  EXPECT_EQ(top_indices(Scores{3, 1}, 5), (Indices{0, 1}));
  EXPECT_EQ(top_indices(Scores{3, 1}, 2), (Indices{0, 1}));
  EXPECT_TRUE(top_indices(Scores{3, 1}, 0).empty());
  EXPECT_TRUE(top_indices(Scores{}, 3).empty());
}

TEST(TopIndices, TakeWhatIsNoNumberLast) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(top_indices(Scores{none, 1, none, -5, 3}, 3), (Indices{1, 3, 4}));
  EXPECT_EQ(top_indices(Scores{none, none, 2, none}, 2), (Indices{0, 2}));
  Scores many(1000, none);
  for (size_t i = 0; i < many.size(); i += 7) many[i] = static_cast<float>(i % 5);
  for (const int32_t i : top_indices(many, 100)) EXPECT_EQ(i % 7, 0);
}

TEST(TopIndices, EqualChoosingTheBestOneByOne) {
  std::mt19937 random(3);
  Scores scores(200);
  for (float& s : scores) s = static_cast<float>(random() % 20);
  for (const int64_t k : {1, 7, 50, 199}) {
    Scores left = scores;
    Indices want;
    for (int64_t i = 0; i < k; ++i) {
      const auto best = std::max_element(left.begin(), left.end());  // the first of equals
      want.push_back(static_cast<int32_t>(best - left.begin()));
      *best = -1;
    }
    std::sort(want.begin(), want.end());
    EXPECT_EQ(top_indices(scores, k), want) << k;
  }
}

}  // namespace
}  // namespace longhaul
