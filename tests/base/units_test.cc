#include "base/units.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

TEST(Units, BytesArePrintedWithTheLargestFittingUnit) {
  EXPECT_EQ(format_bytes(913), "913 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(size_t{5} << 30), "5.0 GiB");
}

TEST(Units, SecondsArePrintedForPeople) {
  EXPECT_EQ(format_seconds(0.0123), "12 ms");
  EXPECT_EQ(format_seconds(3.44), "3.4 s");
  EXPECT_EQ(format_seconds(125), "2 min 05 s");
  EXPECT_EQ(format_seconds(4200), "1 h 10 min");
}

TEST(Units, CountsAreGroupedByThousands) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(12345678), "12,345,678");
  EXPECT_EQ(with_commas(-123), "-123");
  EXPECT_EQ(with_commas(-1234), "-1,234");
}

TEST(Units, ParsesSizesAndRefusesOthers) {
  EXPECT_EQ(parse_bytes("512"), 512u);
  EXPECT_EQ(parse_bytes("1.5k"), 1536u);
  EXPECT_EQ(parse_bytes("2GiB"), size_t{2} << 30);
  for (const char* bad : {"", "x", "-1", "3q", "1kk", "inf"}) EXPECT_FALSE(parse_bytes(bad)) << bad;
}

}  // namespace
}  // namespace longhaul
