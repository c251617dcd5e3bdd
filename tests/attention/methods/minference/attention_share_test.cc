#include "attention/methods/minference/attention_share.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

TEST(AttentionShare, IsTheMeanOverTheLastRows) {
  const std::vector<float> some = {9, 9, 9, 0, 1, 2, -1, 0, -INFINITY};
  const std::vector<float> all = {1, 1, 1, 0, 2, 4, 1, 0.5f, 3};
  double shares[3];
  attention_shares(host_queue(), view_of(some), view_of(all), 1, shares);
  EXPECT_DOUBLE_EQ(shares[0], (1 + std::exp(-2.0)) / 2);
  EXPECT_DOUBLE_EQ(shares[1], (std::exp(-1.0) + std::exp(-0.5)) / 2);
  EXPECT_DOUBLE_EQ(shares[2], std::exp(-2.0) / 2);
  attention_shares(host_queue(), view_of(some), view_of(all), 2, shares);
  EXPECT_DOUBLE_EQ(shares[0], std::exp(-2.0));
  EXPECT_DOUBLE_EQ(shares[2], 0);
}

}  // namespace
}  // namespace longhaul
