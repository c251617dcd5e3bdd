#include "attention/methods/random/random_scores.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

std::vector<float> scores_of(uint64_t seed, size_t count) {
  std::vector<float> scores(count);
  random_scores(host_queue(), seed, view_of(scores));
  return scores;
}

TEST(RandomScores, DependOnSeedAndRowAlone) {
  const std::vector<float> few = scores_of(7, 100), many = scores_of(7, 10000);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(few, scores_of(8, 100));
}

TEST(RandomScores, AreSpreadEvenly) {
  const std::vector<float> scores = scores_of(3, 20000);
  EXPECT_NEAR(std::accumulate(scores.begin(), scores.end(), 0.0) / 20000, 0.5, 0.01);
  for (const float score : scores) {
    EXPECT_GE(score, 0);
    EXPECT_LT(score, 1);
  }
  const auto neighbours = [&](size_t i) { return (scores[i] < 0.5f) != (scores[i + 1] < 0.5f); };
  int changes = 0;
  for (size_t i = 0; i + 1 < scores.size(); ++i) changes += neighbours(i) ? 1 : 0;
  EXPECT_NEAR(changes, 10000, 400);
}

}  // namespace
}  // namespace longhaul
