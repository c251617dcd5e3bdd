#include "ops/core/best_logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace longhaul {
namespace {

TEST(BestLogits, AreOrderedAfterPenaltiesBiasesAndTheMask) {
  std::vector<float> logits = {1, 4, 4, -2, NAN, 3, 0.5f, -INFINITY,  //
                               1, 4, 4, -2, 2,   3, 0.5f, 0};
  const std::vector<int32_t> repeated = {1, 3, 99};
  const std::vector<LogitBias> biases = {{6, 10}, {-1, 5}, {1, 0.5f}};
  const std::vector<uint64_t> mask = {0b11101111};
  const LogitRules rules[] = {{}, {2, repeated, biases, mask}};
  std::vector<BestLogit> best(2 * 7);
  std::vector<LogitSums> sums(2);
  best_logits(host_queue(), {logits.data(), 16}, rules, 7, best, sums);
  std::vector<int32_t> tokens;
  for (const BestLogit& each : best) tokens.push_back(each.token);
  // Row 1: token 1 becomes 4 / 2 + 0.5, token 3 -4, token 6 10.5; token 4 is forbidden.
  EXPECT_EQ(tokens, (std::vector<int32_t>{1, 2, 5, 0, 6, 3, -1, 6, 2, 5, 1, 0, 7, 3}));
  EXPECT_EQ(best[6].logit, -INFINITY);
  EXPECT_EQ(best[7].logit, 10.5f);
  EXPECT_EQ(best[13].logit, -4);
  EXPECT_EQ(sums[0].not_finite, 2);
  EXPECT_EQ(sums[1].not_finite, 0);
  double sum = 0;
  for (const float x : {1.0f, 4.0f, 4.0f, -2.0f, 3.0f, 0.5f}) sum += std::exp(double{x});
  EXPECT_NEAR(sums[0].log_sum_exp, std::log(sum), 1e-6);
}

TEST(BestLogits, OfARowWithoutCandidatesAreNone) {
  std::vector<float> logits = {NAN, -INFINITY, 1};
  const std::vector<uint64_t> mask = {0b011};
  const LogitRules rules[] = {{1, {}, {}, mask}};
  std::vector<BestLogit> best(2);
  std::vector<LogitSums> sums(1);
  best_logits(host_queue(), {logits.data(), 3}, rules, 2, best, sums);
  EXPECT_EQ(best[0].token, -1);
  EXPECT_EQ(sums[0].log_sum_exp, -INFINITY);
}

}  // namespace
}  // namespace longhaul
