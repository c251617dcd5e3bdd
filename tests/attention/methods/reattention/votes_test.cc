#include "attention/methods/reattention/votes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;
using VoteRows = std::vector<int32_t>;

VoteRows voted_rows(const RowList& list) {
  const auto rows = host_rows(list);
  EXPECT_LE(std::ssize(rows), list.most());
  return {rows.begin(), rows.end()};
}

VoteRows voted(const VoteRows& votes, int64_t numbers, int64_t k, VoteCount& memory) {
  return voted_rows(most_voted(host_queue(), view_of(votes), numbers, k, memory));
}

TEST(MostVoted, AscendWithTheLowerNumberWinningTies) {
  VoteCount memory;
  const VoteRows votes{70, 5, 9, 5, 70, -1, 9, 5};  // {5: 3, 9: 2, 70: 2}
  EXPECT_EQ(voted(votes, 71, 2, memory), (VoteRows{5, 9}));
  EXPECT_EQ(voted(votes, 71, 1, memory), (VoteRows{5}));
  EXPECT_EQ(voted(votes, 71, 3, memory), (VoteRows{5, 9, 70}));
  EXPECT_EQ(voted(votes, 90, 9, memory), (VoteRows{5, 9, 70}));
  EXPECT_EQ(voted({4, 3, 4}, 5, 9, memory), (VoteRows{3, 4}));
  EXPECT_TRUE(voted({-1}, 0, 3, memory).empty());
  EXPECT_TRUE(voted({}, 10, 3, memory).empty());
  EXPECT_TRUE(voted(votes, 71, 0, memory).empty());
}

TEST(MostVoted, EqualCountingAndSortingWhateverWasCountedBefore) {
  std::mt19937 random(8);
  VoteCount memory;
  for (int round = 0; round < 300; ++round) {
    const int64_t numbers = 1 + static_cast<int64_t>(random() % 300);
    const int64_t k = static_cast<int64_t>(random() % 40);
    VoteRows votes(random() % 500);
    for (int32_t& vote : votes) {
      vote = static_cast<int32_t>(random() % static_cast<unsigned>(numbers + 3)) - 3;
    }
    std::map<int32_t, int> counts;
    for (const int32_t vote : votes) {
      if (vote >= 0) ++counts[vote];
    }
    std::vector<std::pair<int, int32_t>> ranked;  // fewest votes last
    for (const auto& [number, count] : counts) ranked.push_back({-count, number});
    std::sort(ranked.begin(), ranked.end());
    VoteRows want;
    for (size_t i = 0; i < ranked.size() && i < static_cast<size_t>(k); ++i) {
      want.push_back(ranked[i].second);
    }
    std::sort(want.begin(), want.end());
    ASSERT_EQ(voted(votes, numbers, k, memory), want) << "round " << round;
  }
}

TEST(ExpandSpans, EqualTheSetOfAllNeighbours) {
  std::mt19937 random(9);
  SpanRows memory;
  for (const int64_t end : {0, 1, 63, 64, 65, 200}) {
    for (const int64_t span : {1, 2, 5, 32, 33, 500}) {
      for (int round = 0; round < 10; ++round) {
        VoteRows chosen;
        for (int32_t row = 0; row < end; ++row) {
          if (random() % 16 == 0) chosen.push_back(row);
        }
        const int64_t first = static_cast<int64_t>(random() % 50);
        std::set<int32_t> want;
        for (const int32_t row : chosen) {
          for (int64_t at = row - span / 2; at < row - span / 2 + span; ++at) {
            if (at >= 0 && at < end) want.insert(static_cast<int32_t>(first + at));
          }
        }
        const RowList all{view_of(std::as_const(chosen)), {}};
        const RowList got = expand_spans(host_queue(), all, span, end, first, memory);
        ASSERT_EQ(voted_rows(got), VoteRows(want.begin(), want.end())) << end << " span " << span;
      }
    }
  }
}

TEST(ExpandSpans, FollowTheCountOfWhatWasChosen) {
  SpanRows memory;
  const VoteRows chosen{3, 9, 14}, count{2};
  const RowList two{view_of(chosen), view_of(count)};
  const RowList got = expand_spans(host_queue(), two, 3, 20, 100, memory);
  EXPECT_EQ(voted_rows(got), (VoteRows{102, 103, 104, 108, 109, 110}));
}

}  // namespace
}  // namespace longhaul
