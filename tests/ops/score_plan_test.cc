// Division of thread blocks into parts that fill a device.

#include "ops/maps/score_plan.h"

#include <gtest/gtest.h>

namespace longhaul::cuda {
namespace {

TEST(PartsThatFill, LeaveLittleOfTheDeviceIdle) {
  const PartCost cheap{.each = 0.01};
  EXPECT_EQ(parts_that_fill(132, 132, 16, cheap), 1);  // one full round
  EXPECT_EQ(parts_that_fill(66, 132, 16, cheap), 2);
  EXPECT_EQ(parts_that_fill(44, 132, 16, cheap), 3);
  // 1,197 blocks fill 91 % of 10 rounds, minus 8 % for the parts. 1,064 fill 90 % of 9, minus 7 %.
  EXPECT_EQ(parts_that_fill(133, 132, 16, cheap), 9);
}

TEST(PartsThatFill, AreNoMoreThanTheyGain) {
  EXPECT_EQ(parts_that_fill(66, 132, 16, {.once = 0.6}), 1);
  EXPECT_EQ(parts_that_fill(66, 132, 16, {.once = 0.4}), 2);
  EXPECT_EQ(parts_that_fill(4, 132, 64, {.each = 0.5}), 1);
  EXPECT_EQ(parts_that_fill(4, 132, 64, {.each = 0.001}), 33);  // 4 blocks of many rows
  EXPECT_EQ(parts_that_fill(4, 132, 16, {.each = 0.001}), 16);
}

}  // namespace
}  // namespace longhaul::cuda
