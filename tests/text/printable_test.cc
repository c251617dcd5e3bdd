#include "text/printable.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

TEST(Printable, QuotesEscapesAndCuts) {
  EXPECT_EQ(printable("blk.0"), "'blk.0'");
  EXPECT_EQ(printable("a\n\x1b[31m\xc3\xa9"), R"('a\x0a\x1b[31m\xc3\xa9')");
  EXPECT_EQ(printable(std::string(99, 'x')), "'" + std::string(80, 'x') + "...'");
}

TEST(OneLine, KeepsUtf8AndEscapesWhatATerminalWouldObey) {
  const std::string plain =
      "stra\xc3\x9f"
      "e.gguf: \xe6\x96\x87 \xf0\x9f\x98\x80 'x'";
  EXPECT_EQ(one_line(plain), plain);
  EXPECT_EQ(one_line(""), "");
  EXPECT_EQ(one_line("a\nb\t\x1b[31m\x7f"), R"(a\x0ab\x09\x1b[31m\x7f)");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "31m"),
            R"(\xc2\x9b31m)")
      << "a control character of two bytes";
  EXPECT_EQ(one_line("\xff\xe6\x96."), R"(\xff\xe6\x96.)") << "broken UTF-8";
  EXPECT_EQ(one_line(std::string("a\0b", 3)), R"(a\x00b)");
}

}  // namespace
}  // namespace longhaul
