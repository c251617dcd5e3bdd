#include "text/terminal_text.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

TEST(TerminalText, PlainTextStaysAsItIs) {
  const std::string text = "Grüße aus 東京\n\tzwei Zeilen \U0001F600";
  EXPECT_EQ(terminal_text(text), text);
  EXPECT_EQ(terminal_text("a\r\nb"), "a\nb");
  EXPECT_EQ(terminal_text(""), "");
}

TEST(TerminalText, ControlCharactersAreShownAndNotObeyed) {
  EXPECT_EQ(terminal_text("\x1b]0;x\x07"), "\uFFFD]0;x\uFFFD");
  EXPECT_EQ(terminal_text("a\rb\bc\x7f"), "a\uFFFDb\uFFFDc\uFFFD");
  EXPECT_EQ(terminal_text("\u009b31m"), "\uFFFD31m");  // CSI as one character
  EXPECT_EQ(terminal_text(std::string("\0", 1)), "\uFFFD");
  EXPECT_EQ(terminal_text("a\u202Eb\u2066c\u200Fd\u061Ce\u2028f"),
            "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFDf");
  EXPECT_EQ(terminal_text("a\u200Cb\u200Dc\u2027d"), "a\u200Cb\u200Dc\u2027d");  // joiners stay
}

TEST(TerminalText, ABareByteThatTerminalsOfOneByteObeyIsReplaced) {
  EXPECT_EQ(terminal_text("\x9b"
                          "31m"),
            "\uFFFD31m");
}

TEST(TerminalText, PiecesMayEndAnywhere) {
  const std::string text = "é\u009b\x1b[K\r\n\r東";
  TerminalText filter;
  std::string out;
  for (const char c : text) out += filter.push({&c, 1});
  EXPECT_EQ(out, "é\uFFFD\uFFFD[K\n\uFFFD東");
}

}  // namespace
}  // namespace longhaul
