#include "engine/passages.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

std::vector<std::string> cut(const std::string& text) {
  std::vector<std::string> parts;
  for (const ByteRange& range : sentences_of(text)) {
    parts.push_back(text.substr(range.begin, range.end - range.begin));
  }
  return parts;
}

TEST(Passages, SentencesEndAtStopsAndParagraphs) {
  const std::string first = "The first sentence is long enough to stand by itself.";
  const std::string second = "Is the second one of the same kind, with 3.5 metres?";
  EXPECT_EQ(cut("  " + first + " " + second + "\n"), (std::vector<std::string>{first, second}));
  EXPECT_EQ(cut("A title that is a paragraph and has no stop\n\nThe text."),
            (std::vector<std::string>{"A title that is a paragraph and has no stop", "The text."}));
  EXPECT_EQ(cut("Yes. No. Perhaps."), std::vector<std::string>{"Yes. No. Perhaps."}) << "short";
  EXPECT_EQ(cut(" \n\n "), std::vector<std::string>{});
}

TEST(Passages, NothingIsLeftOutAndNothingIsLonger) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "word" + std::to_string(i) + " ";
  std::string whole;
  for (const std::string& part : cut(text)) {
    EXPECT_LE(part.size(), 410u);
    whole += part + " ";
  }
  EXPECT_EQ(whole, text);
}

}  // namespace
}  // namespace longhaul
