#include "text/progress_text.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

TEST(ProgressText, TimesAreRoundedAsTheyAreKnown) {
  EXPECT_EQ(rounded_time(0.2), "1 s");
  EXPECT_EQ(rounded_time(7.4), "7 s");
  EXPECT_EQ(rounded_time(38), "40 s");
  EXPECT_EQ(rounded_time(131), "2 min 15 s");
  EXPECT_EQ(rounded_time(462), "8 min");
  EXPECT_EQ(rounded_time(49.0 * 60 + 12), "50 min");
  EXPECT_EQ(rounded_time(2.3 * 3600), "2 h 20 min");
  EXPECT_EQ(rounded_time(3599), "1 h");
}

TEST(ProgressText, TheLineFitsAnyWidth) {
  const ProgressText text{"reading", "tokens", "", "about 50 min left", 81234, 123456, 25.3};
  EXPECT_EQ(
      progress_line(text, 200),
      "reading [###############.........] 81,234 / 123,456 tokens, 25 tokens/s, about 50 min left");
  for (size_t width = 12; width < 120; ++width) {
    const std::string line = progress_line(text, width);
    EXPECT_LE(line.size(), width);
    const bool has_time = line.find("50 min left") != std::string::npos;
    EXPECT_TRUE(has_time || width < 31) << line;
  }
  EXPECT_EQ(progress_line(text, 12), "reading 66 %");
}

TEST(ProgressText, ALoadThatComesAndGoesDoesNotMoveTheEndToAndFro) {
  SmoothedEnd end;
  double least = 1e9, most = 0;
  for (int second = 1; second <= 100; ++second) {
    const double expected = second / 5 % 2 == 0 ? 2000 : 3000;  // twice the load every five seconds
    const double shown_end = second + end.left(second, expected);
    if (second < 20) continue;
    least = std::min(least, shown_end);
    most = std::max(most, shown_end);
  }
  EXPECT_LT(most - least, 300);
}

}  // namespace
}  // namespace longhaul
