#include "attention/methods/adakv/allocate_rows.h"

#include <gtest/gtest.h>

#include <random>

#include "attention/method_device.h"
#include "ops/plain_selection.h"
#include "ops/row_numbers.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using namespace testing_support;

struct Allocated {
  Allocated(const std::vector<RowScores>& lists, const RowsToKeep& keep, int64_t guaranteed,
            std::vector<SharedSelection>& selections) {
    std::vector<View<const float>> views;
    for (const RowScores& list : lists) views.push_back(view_of(list));
    std::vector<RowList> kept(lists.size());
    selections.resize(lists.size());
    allocate_rows(host_queue(), views, keep, guaranteed, selections, kept, {});
    for (const RowList& list : kept) rows.push_back(rows_of(list));
  }
  std::vector<ChosenRows> rows;
};

std::vector<ChosenRows> plain_allocation(const std::vector<RowScores>& lists,
                                         const RowsToKeep& keep, int64_t guaranteed) {
  std::vector<ChosenRows> kept(lists.size());
  std::vector<Ranked> rivals;
  int64_t left = keep.count;
  for (size_t l = 0; l < lists.size(); ++l) {
    // The safeguard is the list's own selection.
    kept[l] =
        plain_selection(lists[l], {keep.first, keep.last, keep.first + keep.last + guaranteed});
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

TEST(AllocateRows, EqualsAllocatingOneByOne) {
  std::mt19937 random(4);
  std::vector<SharedSelection> memory;
  for (int round = 0; round < 300; ++round) {
    std::vector<RowScores> lists;
    const size_t same = random() % 150;
    for (size_t l = 0; l < 1 + random() % 4; ++l) {
      lists.push_back(scores_with_ties(round % 2 == 0 ? same : random() % 150, random));
    }
    RowsToKeep keep;
    keep.first = static_cast<int64_t>(random() % 5);
    keep.last = static_cast<int64_t>(random() % 20);
    const int64_t guaranteed = static_cast<int64_t>(random() % 30);
    keep.count = std::ssize(lists) * (keep.first + keep.last + guaranteed) +
                 static_cast<int64_t>(random() % 200);
    const Allocated got(lists, keep, guaranteed, memory);
    ASSERT_EQ(got.rows, plain_allocation(lists, keep, guaranteed)) << "round " << round;
  }
}

TEST(AllocateRows, TheBudgetGoesWhereTheScoresAre) {
  std::vector<SharedSelection> memory;
  const std::vector<RowScores> lists = {{0, 5, 6, 7, 8, 0}, {0, 1, 2, 1, 1, 0}};
  // Two rows at each end, one safeguarded row, and two more from both lists.
  EXPECT_EQ(Allocated(lists, {1, 1, 8}, 1, memory).rows,
            (std::vector<ChosenRows>{{0, 2, 3, 4, 5}, {0, 2, 5}}));
  EXPECT_EQ(Allocated(lists, {1, 1, 8}, 2, memory).rows,
            (std::vector<ChosenRows>{{0, 3, 4, 5}, {0, 1, 2, 5}}));
}

TEST(AllocateRows, OfEqualScoresTheLowerListAndThenTheLowerRowStays) {
  std::vector<SharedSelection> memory;
  const std::vector<RowScores> lists = {{1, 1, 1}, {1, 1, 1}};
  EXPECT_EQ(Allocated(lists, {0, 0, 4}, 0, memory).rows, (std::vector<ChosenRows>{{0, 1, 2}, {0}}));
  EXPECT_EQ(Allocated(lists, {0, 0, 5}, 1, memory).rows,
            (std::vector<ChosenRows>{{0, 1, 2}, {0, 1}}));
}

TEST(AllocationPhases, AllocateAsTheHostDoes) {
  std::mt19937 random(3);
  MethodDevice device;
  std::vector<SharedSelection> selections(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<RuleNumbers> lists;
    std::vector<View<const float>> scores;
    int64_t rows = 0, between = 0, settled = 0;
    const int64_t longest = round % 10 == 0 ? 6000 : 150;
    for (int l = 0; l < 1 + round % 5; ++l) {
      lists.push_back(numbers_of_kind(round % 4, 1 + random() % longest, random));
    }
    RowsToKeep keep{static_cast<int64_t>(random() % 5), static_cast<int64_t>(random() % 20), 0};
    const auto guaranteed = static_cast<int64_t>(random() % 30);
    for (const RuleNumbers& list : lists) {
      scores.push_back(view_of(list));
      const int64_t length = std::ssize(list);
      rows += length;
      between += std::max<int64_t>(0, length - keep.first - keep.last);
      settled += std::min(length, keep.first + keep.last + guaranteed);
    }
    if (settled >= rows) continue;
    keep.count = settled + static_cast<int64_t>(random()) % (rows - settled);
    std::vector<RowList> kept(lists.size());
    allocate_rows(host_queue(), scores, keep, guaranteed, std::span(selections).first(lists.size()),
                  kept, {});
    std::vector<int32_t> counts(lists.size(), -7);
    RuleNumbers scratch(static_cast<size_t>(between));
    std::vector<std::vector<int32_t>> got;
    std::vector<View<int32_t>> out;
    for (const RuleNumbers& list : lists) got.emplace_back(list.size(), -7);
    for (auto& each : got) out.push_back(view_of(each));
    EXPECT_TRUE(device.allocate_rows({.scores = scores,
                                      .ends = keep,
                                      .guaranteed = guaranteed,
                                      .left = keep.count - settled,
                                      .scratch = view_of(scratch),
                                      .rows = out,
                                      .counts = view_of(counts)}));
    for (size_t l = 0; l < lists.size(); ++l) {
      const auto want = host_rows(kept[l]);
      ASSERT_EQ(counts[l], std::ssize(want)) << "round " << round << ", list " << l;
      got[l].resize(want.size());
      ASSERT_EQ(got[l], std::vector<int32_t>(want.begin(), want.end())) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace longhaul
