#include "engine/stop_matcher.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

/// The text shown when `text` arrives in pieces of `size` bytes.
std::string shown(const std::vector<std::string>& stops, const std::string& text, size_t size) {
  StopMatcher matcher(stops);
  std::string out;
  for (size_t i = 0; i < text.size() && !matcher.stopped(); i += size) {
    out += matcher.push(text.substr(i, size));
  }
  return matcher.stopped() ? out + "|" : out + matcher.flush();
}

TEST(StopMatcher, FindsStopsHoweverTheTextIsCut) {
  for (size_t size = 1; size < 12; ++size) {
    EXPECT_EQ(shown({"END"}, "the END of it", size), "the |") << size;
    EXPECT_EQ(shown({"END"}, "the ENEND", size), "the EN|") << size;
    EXPECT_EQ(shown({"aab"}, "aaaaab", size), "aaa|") << size;
    EXPECT_EQ(shown({"\n\n"}, "one\ntwo\n\nthree", size), "one\ntwo|") << size;
    EXPECT_EQ(shown({"END"}, "nothing here: EN", size), "nothing here: EN") << size;
    EXPECT_EQ(shown({}, "no stops", size), "no stops") << size;
    EXPECT_EQ(shown({""}, "an empty one", size), "an empty one") << size;
  }
}

TEST(StopMatcher, TheEarliestOfSeveralWins) {
  EXPECT_EQ(shown({"three", "two"}, "one two three", 100), "one |");
  EXPECT_EQ(shown({"two", "three"}, "one two three", 1), "one |");
}

TEST(StopMatcher, HoldsBackNoMoreThanItMust) {
  StopMatcher matcher({"STOP"});
  EXPECT_EQ(matcher.push("abST"), "ab");
  EXPECT_EQ(matcher.push("x"), "STx");
  EXPECT_EQ(matcher.push("S"), "");
  EXPECT_EQ(matcher.flush(), "S");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, GivesNothingAfterAMatch) {
  StopMatcher matcher({"X"});
  EXPECT_EQ(matcher.push("aXb"), "a");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.flush(), "");
}

}  // namespace
}  // namespace longhaul
