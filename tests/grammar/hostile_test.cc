// Schemas and grammars that were written to do harm end with one line, in little time.

#include <gtest/gtest.h>

#include <string>

#include "grammar_texts.h"

namespace longhaul::grammar {
namespace {

void expect_refused(const std::string& text, GrammarKind kind, const char* part) {
  const std::string message = refusal(text, kind);
  EXPECT_NE(message.find(part), std::string::npos) << text.substr(0, 100) << ": " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(HostileGrammar, RecursionWithoutAnEnd) {
  const GrammarKind schema = GrammarKind::kJsonSchema;
  expect_refused(R"({"$ref": "#"})", schema, "accepts no text");
  expect_refused(R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})", schema, "left recursion");
  expect_refused(R"({"allOf": [{"$ref": "#"}]})", schema, "in a circle");
  expect_refused(R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
                 schema, "accepts no text");
  expect_refused("root ::= root \"a\" | \"b\"", GrammarKind::kGbnf,
                 "left recursion): root -> root");
  expect_refused("root ::= a root | \"b\"\na ::= \"x\"*", GrammarKind::kGbnf, "left recursion");
  expect_refused("root ::= a\na ::= b \"x\"\nb ::= \"y\"? a", GrammarKind::kGbnf,
                 "accepts no text");
}

TEST(HostileGrammar, NamesInMessagesStayOnOneLine) {
  expect_refused("\\p{k\nl}", GrammarKind::kRegex, "no Unicode category is named 'k\\x0al'");
}

TEST(HostileGrammar, ManyAlternatives) {
  std::string list;
  for (int i = 0; i < 10'000; ++i)
    list += (i > 0 ? ", " : "") + std::string(R"({"type": "string"})");
  expect_refused("{\"anyOf\": [" + list + "]}", GrammarKind::kJsonSchema,
                 "more than 4096 alternatives");
}

TEST(HostileGrammar, DeepTexts) {
  std::string deep;
  for (int i = 0; i < 50'000; ++i) deep += R"({"items": )";
  expect_refused(deep + "{}" + std::string(50'000, '}'), GrammarKind::kJsonSchema, "deeper than");
  expect_refused(std::string(100'000, '('), GrammarKind::kRegex, "nest deeper than");
  expect_refused("root ::= " + std::string(100'000, '('), GrammarKind::kGbnf, "nest deeper than");
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 50'000; ++i) chain += fmt::format("r{} ::= r{}\n", i, i + 1);
  EXPECT_TRUE(gbnf_accepts(chain + "r50000 ::= \"x\"", "x"));
}

TEST(HostileGrammar, ManyStates) {
  // Repeats of repeats are rules of rules, and a text is read in time that grows with its length.
  EXPECT_TRUE(regex_accepts("((a{1000}){1000}){2}b|a*", std::string(5000, 'a')));
  EXPECT_TRUE(regex_accepts("(a|b)*a(a|b){20}", std::string(100'000, 'a')));
  EXPECT_TRUE(regex_accepts("(a*)*(a|aa)*(a?){30}", std::string(1000, 'a')));
  expect_refused(R"({"pattern": "^((a|bc)*d){300}$", "maxLength": 900})", GrammarKind::kJsonSchema,
                 "too large to be combined with a length");
  std::string many = "root ::= x\nx ::= \"a\"";
  for (int i = 0; i < 200'000; ++i) many += " | \"" + std::to_string(i) + "\"";
  expect_refused(many, GrammarKind::kGbnf, "larger than");
}

TEST(HostileGrammar, AmbiguityIsReadTogether) {
  std::string text(200, 'a');
  text += "d";
  for (int i = 0; i < 200; ++i) text += i % 3 == 0 ? 'b' : 'c';
  EXPECT_TRUE(gbnf_accepts("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"d\"", text));
}

TEST(HostileGrammar, DeepReplies) {
  const Grammar grammar = Grammar::compile("{}", GrammarKind::kJsonSchema);
  EXPECT_TRUE(accepts(grammar, std::string(100'000, '[') + std::string(100'000, ']')));
}

TEST(HostileGrammar, MalformedTexts) {
  for (const char* text :
       {"", "{", "{\"type\": 3}", "{\"enum\": 3}", "{\"minLength\": -1}", "{\"minLength\": 1.5}",
        "{\"maxItems\": 1e30}", "{\"required\": [1]}", "{\"properties\": 3}", "{\"anyOf\": {}}",
        "{\"items\": 4}", "{\"$ref\": 1}", "{\"minimum\": \"a\"}", "{\"minimum\": 1e300}", "\xff",
        "{\"$ref\": \"#x\"}"}) {
    EXPECT_NE(refusal(text, GrammarKind::kJsonSchema), "") << text;
  }
  for (const char* text :
       {"", "root", "root ::= \"a", "root ::= [a", "root ::= (\"a\"", "root ::= b",
        "root ::= \"a\" root ::= \"b\"", "x ::= \"a\"", "root ::= \"\\q\"", "root ::= \"a\"{3,1}",
        "root ::= <think>", "root ::= [b-a]", "root ::= \"\xff\""}) {
    EXPECT_NE(refusal(text, GrammarKind::kGbnf), "") << text;
  }
  for (const char* text : {"(", ")", "[", "[b-a]", "a{2,1}", "*", "\\1", "a**b\\", "(?<=a)b",
                           "\\bx", "a$b", "\\p{Foo}", "\\u12", "\xff", "a{1000001}"}) {
    EXPECT_NE(refusal(text, GrammarKind::kRegex), "") << text;
  }
}

}  // namespace
}  // namespace longhaul::grammar
