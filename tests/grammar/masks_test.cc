// Masks are compared with what a state accepts, token by token.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "grammar_texts.h"

namespace longhaul::grammar {
namespace {

/// Tokens of one to twelve characters, most of which occur in JSON.
std::shared_ptr<const TokenTrie> random_tokens(size_t count) {
  std::mt19937 random(11);
  const std::vector<std::string> parts = {
      "a",    "b",    "name", "\"", "\\",    "{",   "}",      "[",   "]",  ":",
      ",",    " ",    "\n",   "1",  "0",     ".",   "-",      "é",   "日", "\xe6",
      "\xa5", "true", "null", "x",  "\\u00", "\":", "\", \"", "\"}", "]]"};
  std::vector<std::string> texts(256);
  for (size_t i = 0; i < 256; ++i) texts[i] = std::string(1, static_cast<char>(i));
  while (texts.size() < count) {
    std::string text;
    for (size_t i = 0, end = 1 + random() % 6; i < end; ++i) text += parts[random() % parts.size()];
    texts.push_back(text);  // some twice
  }
  texts.push_back("");
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return std::make_shared<const TokenTrie>(views,
                                           std::vector<int32_t>{static_cast<int32_t>(count)});
}

bool bit(const TokenMask& mask, size_t id) { return (mask[id / 64] >> (id % 64) & 1) != 0; }

TEST(TokenMask, EqualsWhatAStateAccepts) {
  const auto vocabulary = random_tokens(1500);
  const std::pair<GrammarKind, const char*> grammars[] = {
      {GrammarKind::kJsonSchema, "{}"},
      {GrammarKind::kJsonSchema, R"({"type": "object", "properties": {"name": {"type": "string",
         "maxLength": 9}, "b": {"type": "array", "items": {"type": "string", "minLength": 2}},
         "x": {"pattern": "^[^x]*$"}}, "additionalProperties": {"type": "number"}})"},
      {GrammarKind::kJsonSchema, R"({"type": "string", "minLength": 3})"},
      {GrammarKind::kGbnf,
       "root ::= list\nlist ::= word (\", \" word)* | \"[\" list \"]\"\nword ::= [^,\"]*"},
      {GrammarKind::kRegex, "(a|b|name)*[0-9.]{0,30}"}};
  std::mt19937 random(5);
  for (const auto& [kind, text] : grammars) {
    const GrammarState start(Grammar::compile(text, kind), vocabulary);
    TokenMask mask(vocabulary->mask_words());
    for (int reply = 0; reply < 6; ++reply) {
      GrammarState state = start;
      for (int step = 0; step < 25; ++step) {
        state.allowed(mask);
        std::vector<int32_t> allowed;
        for (size_t id = 0; id < vocabulary->tokens(); ++id) {
          GrammarState copy = state;
          const int32_t token = static_cast<int32_t>(id);
          ASSERT_EQ(bit(mask, id), copy.accept(token))
              << text << " token " << vocabulary->text(token);
          if (bit(mask, id) && !vocabulary->ends(token)) allowed.push_back(token);
        }
        ASSERT_TRUE(state.may_end() || !allowed.empty()) << text;
        if (allowed.empty()) break;
        ASSERT_TRUE(state.accept(allowed[random() % allowed.size()]));
      }
    }
  }
}

TEST(TokenMask, SurvivesNewTables) {
  // Every count of a long string is a state of its own, so that tables are replaced often.
  const auto vocabulary = random_tokens(700);
  GrammarState state(
      Grammar::compile(R"({"type": "string", "maxLength": 30000})", GrammarKind::kJsonSchema),
      vocabulary);
  TokenMask mask(vocabulary->mask_words());
  ASSERT_TRUE(state.accept('"'));
  GrammarState early = state;
  for (int i = 0; i < 20'000; ++i) {
    state.allowed(mask);
    ASSERT_TRUE(bit(mask, 'x')) << i;
    ASSERT_TRUE(state.accept('x'));
  }
  EXPECT_LT(state.shared_memory_bytes(), size_t{4} << 20);
  EXPECT_TRUE(state.accept('"'));
  EXPECT_TRUE(state.may_end());
  EXPECT_TRUE(state.must_end());
  early.allowed(mask);
  EXPECT_TRUE(bit(mask, 'y'));
  EXPECT_TRUE(early.accept('"'));
  EXPECT_TRUE(early.accept(700));
  EXPECT_TRUE(early.ended());
  EXPECT_FALSE(early.accept('x'));
}

}  // namespace
}  // namespace longhaul::grammar
