#include "ops/choose/select_rows.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/plain_selection.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using namespace testing_support;

ChosenRows select(const RowScores& scores, const RowsToKeep& keep) {
  RowSelection memory;
  return rows_of(select_rows(host_queue(), view_of(scores), keep, memory));
}

TEST(SelectRows, EqualsTakingTheBestOneByOne) {
  std::mt19937 random(3);
  RowSelection memory;
  for (const size_t n : {0u, 1u, 2u, 63u, 64u, 65u, 200u, 700u}) {
    for (int round = 0; round < 40; ++round) {
      const RowScores scores = scores_with_ties(n, random);
      RowsToKeep keep;
      keep.first = static_cast<int64_t>(random() % (n / 2 + 1));
      keep.last = static_cast<int64_t>(random() % (n / 2 + 1));
      keep.count = keep.first + keep.last + static_cast<int64_t>(random() % (n + 2));
      if (round % 3 == 0) keep.count = keep.first + keep.last + static_cast<int64_t>(n / 40);
      const RowList got = select_rows(host_queue(), view_of(scores), keep, memory);
      ASSERT_EQ(rows_of(got), plain_selection(scores, keep))
          << n << " rows, " << keep.first << " + " << keep.last << " of " << keep.count;
    }
  }
}

TEST(SelectRows, ScoresOfTheEndsDoNotCount) {
  const RowScores scores{9, 9, 1, 2, 3, 9, 9};
  EXPECT_EQ(select(scores, {1, 1, 2}), (ChosenRows{0, 6}));
  EXPECT_EQ(select({0, 0, 1, 2, 3, 0, 0}, {2, 2, 5}), (ChosenRows{0, 1, 4, 5, 6}));
  EXPECT_EQ(select({kNone, 5, 1, kNone}, {1, 1, 3}), (ChosenRows{0, 1, 3}));
}

TEST(SelectRows, OfEqualScoresTheLowerRowStays) {
  EXPECT_EQ(select({0.0f, -0.0f, 0.0f, -0.0f}, {0, 0, 2}), (ChosenRows{0, 1}));
  EXPECT_EQ(select({-1, -kInfinity, kNone, -kInfinity}, {0, 0, 3}), (ChosenRows{0, 1, 2}));
  EXPECT_EQ(select({kInfinity, 1, kInfinity, kInfinity}, {0, 0, 2}), (ChosenRows{0, 2}));
}

TEST(SelectRows, TakeAllWhereThereAreNoMore) {
  EXPECT_EQ(select({3, 1, 2}, {2, 2, 4}), (ChosenRows{0, 1, 2}));
  EXPECT_EQ(select({3, 1, 2}, {0, 0, 3}), (ChosenRows{0, 1, 2}));
  EXPECT_TRUE(select({}, {4, 4, 10}).empty());
}

}  // namespace
}  // namespace longhaul
