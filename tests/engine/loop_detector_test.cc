#include "engine/loop_detector.h"

#include <gtest/gtest.h>

#include <random>

namespace longhaul {
namespace {

/// Number of tokens until repetition with period `period` after `before` other tokens is detected,
/// or -1 after 5,000.
int64_t seen_after(int64_t period, int64_t before) {
  LoopDetector loop;
  for (int64_t i = 0; i < before; ++i) loop.push(static_cast<int32_t>(1'000'000 + i));
  for (int64_t i = 0; i < 5'000; ++i) {
    if (loop.push(static_cast<int32_t>(i % period))) {
      EXPECT_EQ(loop.period(), period);
      return i + 1;
    }
  }
  return -1;
}

TEST(LoopDetector, FourTimesAndNinetySixTokens) {
  EXPECT_EQ(seen_after(1, 0), 96);
  EXPECT_EQ(seen_after(5, 7), 96);
  EXPECT_EQ(seen_after(24, 0), 96);
  EXPECT_EQ(seen_after(25, 100), 100);
  EXPECT_EQ(seen_after(256, 3), 1024);
  EXPECT_EQ(seen_after(257, 0), -1);
}

TEST(LoopDetector, ListsThatCountAreNoLoops) {
  LoopDetector loop;
  for (int32_t i = 0; i < 3'000; ++i) {
    EXPECT_FALSE(loop.push(i % 10 == 3 ? 100 + i / 10 : i % 10)) << i;
  }
}

TEST(LoopDetector, AStumbleBeginsTheCountAnew) {
  LoopDetector loop;
  for (int i = 0; i < 90; ++i) EXPECT_FALSE(loop.push(i % 2));
  EXPECT_FALSE(loop.push(77));
  for (int i = 0; i < 95; ++i) EXPECT_FALSE(loop.push(i % 2)) << i;
  EXPECT_TRUE(loop.push(1));
}

}  // namespace
}  // namespace longhaul
