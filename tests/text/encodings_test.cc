#include "text/encodings.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace longhaul {
namespace {

std::string decoded(std::string_view bytes, const char* encoding, size_t broken) {
  size_t count = 0;
  const std::string text = to_utf8(bytes, encoding, count);
  EXPECT_EQ(count, broken);
  return text;
}

TEST(Encodings, Windows1252HasItsQuotesAndDashes) {
  EXPECT_EQ(decoded("\x93"
                    "caf\xe9\x94 \x96 5\x80",
                    "CP1252", 0),
            "“café” – 5€");
  EXPECT_EQ(decoded("a\x81"
                    "b",
                    "CP1252", 1),
            "a\uFFFDb")
      << "a byte that stands for nothing there";
}

TEST(Encodings, Utf16OfBothOrdersWithPairs) {
  EXPECT_EQ(decoded(std::string_view("\x3d\xd8\x00\xde!\0", 6), "UTF-16LE", 0), "😀!");
  EXPECT_EQ(decoded(std::string_view("\xd8\x3d\xde\x00\0!", 6), "UTF-16BE", 0), "😀!");
  EXPECT_EQ(decoded(std::string_view("a\0\0\xdc"
                                     "b\0c",
                                     7),
                    "UTF-16LE", 2),
            "a\uFFFDb\uFFFD")
      << "half a pair, and half a letter at the end";
}

TEST(Encodings, LongTextsPassWhole) {
  const std::string bytes(100'000, '\xe9');
  EXPECT_EQ(decoded(bytes, "CP1252", 0).size(), 200'000u);
}

TEST(Encodings, AnUnknownOneIsNamed) {
  size_t broken = 0;
  EXPECT_THROW(to_utf8("a", "NO-SUCH-ENCODING", broken), UserError);
}

TEST(Encodings, Windows1252IsToldFromUtf8) {
  EXPECT_TRUE(is_windows_1252("caf\xe9 au lait"));
  EXPECT_FALSE(is_windows_1252("plain"));
  EXPECT_FALSE(is_windows_1252("café, naïve, and one \xff broken byte"));
  EXPECT_FALSE(is_windows_1252(std::string_view("\xe9\0\xe9", 3))) << "no text";
  EXPECT_FALSE(is_windows_1252("\xe9\x1b[2J"));
}

}  // namespace
}  // namespace longhaul
