#include "text/utf8.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

std::string repaired(std::string_view text, size_t* replaced) {
  std::string storage;
  return std::string(repair_utf8(text, storage, replaced));
}

TEST(Utf8, ReadsOneCharacterAtATime) {
  const Utf8Sequence euro = read_utf8("\u20AC5");
  EXPECT_EQ(euro.status, Utf8Status::complete);
  EXPECT_EQ(euro.bytes, 3u);
  EXPECT_EQ(euro.code_point, 0x20ACu);
  EXPECT_EQ(read_utf8("\xE2\x82").status, Utf8Status::truncated);
  EXPECT_EQ(read_utf8("\xE2\x82").bytes, 2u);
  EXPECT_EQ(read_utf8("\xFF!").status, Utf8Status::broken);
}

/// The Unicode Standard, 3.9, tables 3-8 to 3-11.
TEST(Utf8, PutsOneReplacementForEachMaximalPart) {
  const struct {
    std::string_view text, wanted;
    size_t replaced;
  } cases[] = {
      {"plain \u00E9", "plain \u00E9", 0},
      {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41",
       "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41", 8},
      {"\xED\xA0\x80\x41", "\uFFFD\uFFFD\uFFFD\x41", 3},  // a surrogate
      {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41\uFFFD\uFFFD\x42",
       7},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\x41", 4},
  };
  for (const auto& c : cases) {
    size_t replaced = 0;
    EXPECT_EQ(repaired(c.text, &replaced), c.wanted);
    EXPECT_EQ(replaced, c.replaced);
  }
}

TEST(Utf8, HoldsACharacterUntilItsEndIsThere) {
  std::string held = "a\xF0\x9F\xA6";
  EXPECT_EQ(take_complete_utf8(held), "a");
  EXPECT_EQ(held, "\xF0\x9F\xA6");
  held += '\x99';
  EXPECT_EQ(take_complete_utf8(held), "\U0001F999");
  EXPECT_EQ(held, "");
  held = "\xF0\x9F!";
  EXPECT_EQ(take_complete_utf8(held), "\uFFFD!");
}

TEST(Utf8, TrimsUnicodeWhiteSpace) {
  EXPECT_EQ(trim_front("\u2003\u00a0 a \u3000"), "a \u3000");
  EXPECT_EQ(trim_back("\u2003 a\u0085 \u3000"), "\u2003 a");
  EXPECT_EQ(trim_back(" \n"), "");
}

}  // namespace
}  // namespace longhaul
