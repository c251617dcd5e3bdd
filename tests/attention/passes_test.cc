// Grouping of passes, and the rows that are taken back after them.

#include "attention/parts/passes.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

Pass kept(int64_t begin, int64_t count) { return {.begin = begin, .count = count}; }
Pass discarded(int64_t begin, int64_t count, int stream = 0) {
  return {.begin = begin, .count = count, .stream = stream, .discard = true};
}

std::vector<int64_t> taken_back(std::vector<Pass> passes) {
  mark_taken_back(passes);
  std::vector<int64_t> rows;
  for (const Pass& pass : passes) rows.push_back(pass.taken_back);
  return rows;
}

using Rows = std::vector<int64_t>;

TEST(Passes, RowsAreTakenBackWhereWhatIsDiscardedEnds) {
  EXPECT_EQ(taken_back({kept(0, 20), kept(20, 10)}), (Rows{0, 0}));
  EXPECT_EQ(taken_back({kept(0, 20), discarded(50, 10), kept(20, 30)}), (Rows{0, 10, 0}));
  // A pass that continues the previous one is taken back with it.
  EXPECT_EQ(taken_back({discarded(50, 4), discarded(54, 6), kept(50, 10)}), (Rows{0, 10, 0}));
  // The tokens are equal or are in another stream.
  EXPECT_EQ(taken_back({discarded(50, 4), discarded(50, 4)}), (Rows{4, 4}));
  EXPECT_EQ(taken_back({discarded(50, 4), discarded(54, 4, 1)}), (Rows{4, 4}));
}

TEST(Passes, AsManyAsTheChunkHasRoomForAreComputedTogether) {
  const std::vector<Pass> passes{kept(0, 20), kept(20, 20), kept(40, 20), kept(60, 1)};
  EXPECT_EQ(passes_together(passes, 10), 1u);
  EXPECT_EQ(passes_together(passes, 39), 1u);
  EXPECT_EQ(passes_together(passes, 40), 2u);
  EXPECT_EQ(passes_together(passes, 60), 3u);
  EXPECT_EQ(passes_together(passes, 61), 4u);
  EXPECT_EQ(passes_together(std::span(passes).last(1), 1), 1u);
}

/// A prompt is not cancelled between the two passes.
TEST(Passes, WhatIsDiscardedWaitsForThePassThatItIsReadFor) {
  const std::vector<Pass> passes{kept(0, 20), discarded(50, 10), kept(20, 20), discarded(50, 10)};
  EXPECT_EQ(passes_together(passes, 30), 1u);
  EXPECT_EQ(passes_together(passes, 50), 3u);
  EXPECT_EQ(passes_together(passes, 60), 4u);                        // no pass follows
  EXPECT_EQ(passes_together(std::span(passes).subspan(1), 15), 1u);  // both do not fit
  const std::vector<Pass> several{discarded(50, 4), discarded(54, 6), kept(0, 20)};
  EXPECT_EQ(passes_together(several, 12), 2u);
}

}  // namespace
}  // namespace longhaul
