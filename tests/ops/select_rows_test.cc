#include "ops/choose/select_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;
using ChosenRows = std::vector<int32_t>;
using RowScores = std::vector<float>;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

ChosenRows rows_of(const RowList& list) {
  const auto rows = host_rows(list);
  return {rows.begin(), rows.end()};
}

ChosenRows select(const RowScores& scores, const RowsToKeep& keep) {
  RowSelection memory;
  return rows_of(select_rows(host_queue(), view_of(scores), keep, memory));
}

/// Scores with few different values, some of them NaN, infinite or minus zero.
RowScores scores_with_ties(size_t n, std::mt19937& random) {
  constexpr float kOdd[] = {kNone, kInfinity, -kInfinity, -0.0f, 0.0f};
  RowScores scores(n);
  for (float& s : scores) {
    const auto r = random() % 40;
    s = r < 5 ? kOdd[r] : static_cast<float>(r % 7) - 3.0f;
  }
  return scores;
}

/// A row's rank for selection; the lowest is kept first.
using Ranked = std::tuple<double, size_t, int32_t>;  // minus the score, list, row
Ranked ranked(size_t list, int32_t row, float score) {
  return {std::isnan(score) ? kInfinity : -score, list, row};
}

/// Selects the best of `rivals` one by one.
std::vector<Ranked> best_scored(std::vector<Ranked> rivals, int64_t count) {
  std::vector<Ranked> best;
  for (int64_t i = 0; i < count; ++i) {
    const auto next = std::min_element(rivals.begin(), rivals.end());
    best.push_back(*next);
    rivals.erase(next);
  }
  return best;
}

ChosenRows plain_selection(const RowScores& scores, const RowsToKeep& keep) {
  const auto n = std::ssize(scores);
  ChosenRows rows;
  std::vector<Ranked> rivals;
  for (int32_t row = 0; row < n; ++row) {
    if (n <= keep.count || row < keep.first || row >= n - keep.last) {
      rows.push_back(row);
    } else {
      rivals.push_back(ranked(0, row, scores[static_cast<size_t>(row)]));
    }
  }
  if (n > keep.count) {
    for (const auto& p : best_scored(rivals, keep.count - keep.first - keep.last)) {
      rows.push_back(std::get<2>(p));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
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

struct Dealt {
  Dealt(const std::vector<RowScores>& lists, const RowsToKeep& keep, int64_t sure,
        std::vector<RowSelection>& selections) {
    std::vector<View<const float>> views;
    for (const RowScores& list : lists) views.push_back(view_of(list));
    std::vector<RowList> kept(lists.size());
    selections.resize(lists.size());
    select_rows_dealt(host_queue(), views, keep, sure, selections, kept, {});
    for (const RowList& list : kept) rows.push_back(rows_of(list));
  }
  std::vector<ChosenRows> rows;
};

std::vector<ChosenRows> plain_deal(const std::vector<RowScores>& lists, const RowsToKeep& keep,
                                   int64_t sure) {
  std::vector<ChosenRows> kept(lists.size());
  std::vector<Ranked> rivals;
  int64_t left = keep.count;
  for (size_t l = 0; l < lists.size(); ++l) {
    // The safeguard is the list's own selection.
    kept[l] = plain_selection(lists[l], {keep.first, keep.last, keep.first + keep.last + sure});
    left -= std::ssize(kept[l]);
    for (int32_t row = 0; row < std::ssize(lists[l]); ++row) {
      if (std::find(kept[l].begin(), kept[l].end(), row) != kept[l].end()) continue;
      rivals.push_back(ranked(l, row, lists[l][static_cast<size_t>(row)]));
    }
  }
  for (const auto& [score, list, row] : best_scored(rivals, std::min(left, std::ssize(rivals)))) {
    kept[list].push_back(row);
  }
  for (ChosenRows& rows : kept) std::sort(rows.begin(), rows.end());
  return kept;
}

TEST(SelectRowsDealt, EqualsDealingOneByOne) {
  std::mt19937 random(4);
  std::vector<RowSelection> memory;
  for (int round = 0; round < 300; ++round) {
    std::vector<RowScores> lists;
    const size_t same = random() % 150;
    for (size_t l = 0; l < 1 + random() % 4; ++l) {
      lists.push_back(scores_with_ties(round % 2 == 0 ? same : random() % 150, random));
    }
    RowsToKeep keep;
    keep.first = static_cast<int64_t>(random() % 5);
    keep.last = static_cast<int64_t>(random() % 20);
    const int64_t sure = static_cast<int64_t>(random() % 30);
    keep.count =
        std::ssize(lists) * (keep.first + keep.last + sure) + static_cast<int64_t>(random() % 200);
    const Dealt got(lists, keep, sure, memory);
    ASSERT_EQ(got.rows, plain_deal(lists, keep, sure)) << "round " << round;
  }
}

TEST(SelectRowsDealt, TheBudgetGoesWhereTheScoresAre) {
  std::vector<RowSelection> memory;
  const std::vector<RowScores> lists = {{0, 5, 6, 7, 8, 0}, {0, 1, 2, 1, 1, 0}};
  // Two rows at each end, one safeguarded row, and two more from both lists.
  EXPECT_EQ(Dealt(lists, {1, 1, 8}, 1, memory).rows,
            (std::vector<ChosenRows>{{0, 2, 3, 4, 5}, {0, 2, 5}}));
  EXPECT_EQ(Dealt(lists, {1, 1, 8}, 2, memory).rows,
            (std::vector<ChosenRows>{{0, 3, 4, 5}, {0, 1, 2, 5}}));
}

TEST(SelectRowsDealt, OfEqualScoresTheLowerListAndThenTheLowerRowStays) {
  std::vector<RowSelection> memory;
  const std::vector<RowScores> lists = {{1, 1, 1}, {1, 1, 1}};
  EXPECT_EQ(Dealt(lists, {0, 0, 4}, 0, memory).rows, (std::vector<ChosenRows>{{0, 1, 2}, {0}}));
  EXPECT_EQ(Dealt(lists, {0, 0, 5}, 1, memory).rows, (std::vector<ChosenRows>{{0, 1, 2}, {0, 1}}));
}

}  // namespace
}  // namespace longhaul
