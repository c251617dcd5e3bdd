#include "attention/methods/ltri/block_votes.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/best_by_definition.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::best_by_definition;
using testing_support::view_of;

TEST(BlockVotes, TheLargestWeightWinsThenTheHigherScore) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> draw(0, 3);
  BlockVote memory;
  for (int round = 0; round < 50; ++round) {
    std::vector<float> weights, scores;
    std::vector<double> order;
    for (int b = 0; b < 40; ++b) {
      weights.push_back(static_cast<float>(draw(random)) / 2);
      scores.push_back(static_cast<float>(draw(random)) - 1);
      order.push_back(double{weights.back()} * 100 + double{scores.back()});
    }
    for (const int64_t k : {0, 1, 7, 40, 60}) {
      const RowList best =
          most_weighted(host_queue(), view_of(weights), view_of(scores), k, memory);
      const auto got = host_rows(best);
      EXPECT_EQ(std::vector<int64_t>(got.begin(), got.end()), best_by_definition(order, k));
    }
  }
}

TEST(BlockVotes, WeightGoesToTheChosen) {
  std::vector<float> weights{1, 2, 3};
  const std::vector<int32_t> chosen{0, 2};
  add_weight(host_queue(), {view_of(chosen), {}}, 0.5f, view_of(weights));
  EXPECT_EQ(weights, (std::vector<float>{1.5f, 2, 3.5f}));
}

}  // namespace
}  // namespace longhaul
