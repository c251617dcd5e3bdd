#include <gtest/gtest.h>

#include "grammar_texts.h"

namespace longhaul::grammar {
namespace {

TEST(Gbnf, RulesAndRepeats) {
  const char* sums = R"GBNF(# sums
root  ::= (expr "=" blank
           term "\n")+
expr  ::= term ([-+*/] term)*   # any number of terms
term  ::=
  ident | num
  | "(" blank expr ")" blank
ident ::= [a-z] [a-z0-9_]* blank
num   ::= [0-9]+ blank
blank ::= [ \t\n]*
)GBNF";
  EXPECT_TRUE(gbnf_accepts(sums, "x +(3*y1)=7\n"));
  EXPECT_FALSE(gbnf_accepts(sums, "x +=7\n"));
  EXPECT_TRUE(gbnf_accepts("root ::= \"a\"{2,3} [^a-z\\]]? .", "aa]"));
  EXPECT_TRUE(gbnf_accepts("root ::= \"a\"{2} \"b\"{,2} \"c\"{1,}", "aabcc"));
  EXPECT_FALSE(gbnf_accepts("root ::= \"a\"{2} \"b\"{,2} \"c\"{1,}", "aabbbc"));
  EXPECT_TRUE(gbnf_accepts("root ::= [\\u3040-\\u309F]+ \"\\x41\\U0001F600\"", "ひらA😀"));
}

TEST(Regex, WholeTexts) {
  EXPECT_TRUE(regex_accepts("[A-Z]\\w+(-\\d{2,4})?", "Room-101"));
  EXPECT_FALSE(regex_accepts("[A-Z]\\w+(-\\d{2,4})?", "Room-1"));
  EXPECT_TRUE(regex_accepts("^(?:yes|no)$", "yes"));
  EXPECT_TRUE(regex_accepts("\\p{Lu}\\p{L}*", "Österreich"));
  EXPECT_FALSE(regex_accepts("\\p{Lu}\\p{L}*", "österreich"));
  EXPECT_TRUE(regex_accepts("[]a]?|[^]{2}", "\n\n"));
  EXPECT_TRUE(regex_accepts("a*?b+?c??", "aab"));
}

TEST(GrammarParts, FollowEachOther) {
  const GrammarPart open{GrammarKind::kText, "<tool_call>\n"},
      close{GrammarKind::kText, "\n</tool_call>"};
  const GrammarPart call{GrammarKind::kJsonSchema, R"({"const": {"name": "f"}})"};
  const GrammarPart other{GrammarKind::kRegex, "[0-9]+"};
  const std::vector<std::vector<GrammarPart>> alternatives = {{open, call, close}, {other}};
  const Grammar grammar = Grammar::compile_choice(alternatives);
  EXPECT_TRUE(accepts(grammar, "<tool_call>\n{\"name\":\"f\"}\n</tool_call>"));
  EXPECT_TRUE(accepts(grammar, "42"));
  EXPECT_FALSE(accepts(grammar, "<tool_call>\n42"));
}

}  // namespace
}  // namespace longhaul::grammar
