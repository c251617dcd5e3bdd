// Constraints of earlier requests are compiled once, and old ones are dropped.

#include "serve/api/kept_forms.h"

#include <gtest/gtest.h>

#include "scheduler_fixture.h"

namespace longhaul::serve {
namespace {

using grammar::Grammar;
using grammar::GrammarKind;
using grammar::TokenTrie;

struct KeptFormsTest : ::testing::Test {
  KeptForm form(const std::string& pattern) {
    return kept.of(pattern, vocabulary, [&] {
      ++compiled;
      return KeptForm{
          grammar::Constraint(Grammar::compile(pattern, GrammarKind::kRegex), vocabulary), pattern};
    });
  }
  std::shared_ptr<const TokenTrie> vocabulary = TokenTrie::of(testing_support::nano_tokenizer());
  KeptForms kept;
  int compiled = 0;
};

TEST_F(KeptFormsTest, AreCompiledOnce) {
  KeptForm first = form("7[a-z]{3}"), second = form("7[a-z]{3}");
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(second.prompt_end, "7[a-z]{3}");
  // The states of two replies are independent of each other, and the tables are common.
  grammar::TokenMask mask(vocabulary->mask_words());
  const size_t before = second.constraint->shared_memory_bytes();
  const int32_t digit =
      testing_support::nano_tokenizer().encode("7", {.add_special = false}).back();
  first.constraint->allowed(mask);
  first.constraint->accept(digit);
  first.constraint->allowed(mask);
  EXPECT_GT(second.constraint->shared_memory_bytes(), before);
  grammar::TokenMask begin(vocabulary->mask_words()), again(vocabulary->mask_words());
  second.constraint->allowed(begin);
  form("7[a-z]{3}").constraint->allowed(again);
  EXPECT_EQ(begin, again);
  EXPECT_NE(begin, mask);
  const auto other = TokenTrie::of(testing_support::nano_tokenizer());
  kept.of("7[a-z]{3}", other, [&] { return ++compiled, KeptForm{}; });
  EXPECT_EQ(compiled, 2);
}

TEST_F(KeptFormsTest, TheOldestAreDropped) {
  for (int i = 0; i < 100; ++i) form("a{" + std::to_string(i % 40 + 1) + "}");
  EXPECT_EQ(kept.size(), KeptForms::kMostForms);
  EXPECT_EQ(compiled, 100);
  form("a{20}");  // the last one of the loop
  EXPECT_EQ(compiled, 100);
  // Long texts count as well.
  kept.of(std::string(KeptForms::kMostBytes - 1000, 'x'), vocabulary, [] { return KeptForm{}; });
  EXPECT_LT(kept.size(), 5U);
  kept.of(std::string(2 * KeptForms::kMostBytes, 'x'), vocabulary, [] { return KeptForm{}; });
  EXPECT_EQ(kept.size(), 1U);
}

TEST_F(KeptFormsTest, AFormThatCannotBeCompiledIsNotKept) {
  EXPECT_THROW(form("("), UserError);
  EXPECT_EQ(kept.size(), 0U);
}

}  // namespace
}  // namespace longhaul::serve
