#include "text/regex.h"

#include <gtest/gtest.h>

#include "format/temp_folder.h"

namespace longhaul {
namespace {

TEST(Regex, FindsFromAPlaceOn) {
  const Regex digits(R"(\d+)", "test");
  const std::string text = "a 12 b 345";
  EXPECT_EQ(digits.find(text, 0)->begin, 2u);
  EXPECT_EQ(digits.find(text, 4)->begin, 7u);
  EXPECT_EQ(digits.find(text, 4)->end, 10u);
  EXPECT_FALSE(digits.find("none", 0));
}

TEST(Regex, KnowsUnicodesProperties) {
  const Regex letters(R"(\p{L}+)", "test");
  const std::string text = "1 \u00E9t\u00E9\u4E2D 2";
  EXPECT_EQ(letters.find(text, 0)->begin, 2u);
  EXPECT_EQ(letters.find(text, 0)->end, 2 + 2 + 1 + 2 + 3u);
}

TEST(Regex, RefusesAMalformedPatternByPlace) {
  EXPECT_EQ(testing_support::error_of([] { Regex("a(b", "tokenizer.json: pre_tokenizer"); }),
            "tokenizer.json: pre_tokenizer: pattern is malformed at byte 3: missing closing "
            "parenthesis");
}

TEST(Regex, APatternOfMoreThanAMebibyteIsRefused) {
  const std::string most((size_t{1} << 20) + 1, 'a');
  EXPECT_EQ(testing_support::error_of([&] { Regex(most, "t.json"); }),
            "t.json: pattern of 1048577 bytes; at most 1048576 are supported");
}

/// Each "a" is a nested call. The compiled pattern has 4 MiB of stack for them. The interpreter,
/// which is tried next, keeps them on the heap up to a bound.
TEST(Regex, CallsWithinCallsEndWithTheirBound) {
  const Regex nested("(a(?1)?b)", "t.json");
  const auto parentheses = [](size_t deep) {
    return std::string(deep, 'a') + std::string(deep, 'b');
  };
  const std::string deep = parentheses(10'000);
  EXPECT_EQ(nested.find(deep, 0)->end, deep.size());
  const std::string line =
      testing_support::error_of([&] { nested.find(parentheses(4'000'000), 0); });
  EXPECT_TRUE(testing_support::has(line, {"t.json: the pattern cannot be matched", "limit"}));
}

TEST(Regex, ALiteralMatchesItselfOnly) {
  const std::string text = "a.b*[c]\t(d)\\ \u20AC#";
  const Regex literal(regex_literal(text), "test");
  EXPECT_EQ(literal.find("x" + text, 0)->begin, 1u);
  EXPECT_EQ(literal.find("x" + text, 0)->end, 1 + text.size());
  EXPECT_FALSE(literal.find("aXb*[c]\t(d)\\ \u20AC#", 0));
}

}  // namespace
}  // namespace longhaul
