#include "base/random.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

// The first values of the reference implementation (https://prng.di.unimi.it/splitmix64.c, seed
// 1234567).
TEST(SplitMix64, IsTheReference) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

}  // namespace
}  // namespace longhaul
