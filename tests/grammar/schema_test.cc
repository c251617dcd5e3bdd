#include <gtest/gtest.h>

#include <string>

#include "grammar_texts.h"

namespace longhaul::grammar {
namespace {

TEST(JsonSchema, ObjectsHaveTheirMembersInOrder) {
  const char* schema = R"({"type": "object", "properties": {"a": {"type": "integer"},
    "b": {"type": "string"}, "c": {"type": "null"}}, "required": ["b"]})";
  for (const char* good : {R"({"b":"x"})", R"({"a":1,"b":"x"})", R"({"a": -7, "b": "", "c": null})",
                           "{\n  \"b\": \"x\",\n  \"c\": null\n}"}) {
    EXPECT_TRUE(schema_accepts(schema, good)) << good;
  }
  for (const char* bad : {"{}", R"({"a":1})", R"({"b":"x","a":1})", R"({"b":"x","d":1})",
                          R"({"b":"x",})", R"({"a":01,"b":"x"})", R"({"b":"x"} )"}) {
    EXPECT_FALSE(schema_accepts(schema, bad)) << bad;
  }
}

TEST(JsonSchema, FurtherMembersHaveOtherNames) {
  const char* schema = R"({"type": "object", "properties": {"name": {"type": "integer"}},
    "additionalProperties": {"type": "string"}})";
  EXPECT_TRUE(schema_accepts(schema, R"({"name":1,"o":"p","q":"r"})"));
  EXPECT_TRUE(schema_accepts(schema, R"({"nam":"x"})"));
  EXPECT_TRUE(schema_accepts(schema, R"({"names":"x"})"));
  EXPECT_FALSE(schema_accepts(schema, R"({"name":"x"})"));
  EXPECT_FALSE(schema_accepts(schema, "{\"n\\u0061me\":\"x\"}"));
}

TEST(JsonSchema, AnyValue) {
  for (const char* good :
       {"[[[1, 2.5e-3], {\"a\": []}], \"\\u00e9\\n\", null]", "0", "-0.5", "{}"}) {
    EXPECT_TRUE(schema_accepts("{}", good)) << good;
  }
  for (const char* bad : {"[1", "nul", "01", "\"\x01\"", "\"\xff\"", "\"\\ud800\"", "[1,]", ""}) {
    EXPECT_FALSE(schema_accepts("{}", bad)) << bad;
  }
}

TEST(JsonSchema, StringsByLengthPatternAndFormat) {
  EXPECT_TRUE(schema_accepts(R"({"type": "string", "minLength": 2, "maxLength": 3})", "\"日本\""));
  EXPECT_TRUE(schema_accepts(R"({"maxLength": 1})", "\"\\ud83d\\ude00\""));
  EXPECT_FALSE(schema_accepts(R"({"maxLength": 1})", "\"ab\""));
  // A pattern matches anywhere in the text unless it has anchors.
  EXPECT_TRUE(schema_accepts(R"({"pattern": "b+"})", "\"abba\""));
  EXPECT_FALSE(schema_accepts(R"({"pattern": "^b+$"})", "\"abba\""));
  EXPECT_TRUE(schema_accepts(R"({"pattern": "^[\"\\\\]$"})", R"("\"")"));
  EXPECT_TRUE(schema_accepts(R"({"pattern": "^(ab|c)+$", "maxLength": 5})", "\"cabab\""));
  EXPECT_FALSE(schema_accepts(R"({"pattern": "^(ab|c)+$", "maxLength": 5})", "\"ababab\""));
  EXPECT_FALSE(schema_accepts(R"({"pattern": "^(ab|c)+$", "minLength": 3})", "\"ab\""));
  EXPECT_TRUE(schema_accepts(R"({"format": "date"})", "\"2026-11-27\""));
  EXPECT_FALSE(schema_accepts(R"({"format": "date"})", "\"2026-13-01\""));
  for (const char* day : {"2024-02-29", "2000-02-29", "0400-02-29", "2026-02-28", "0001-01-31"}) {
    EXPECT_TRUE(schema_accepts(R"({"format": "date"})", "\"" + std::string(day) + "\"")) << day;
  }
  for (const char* day : {"2026-02-29", "1900-02-29", "2024-02-30", "2026-04-31", "0000-01-01",
                          "0000-02-29", "2026-12-32", "2026-11-00"}) {
    EXPECT_FALSE(schema_accepts(R"({"format": "date"})", "\"" + std::string(day) + "\"")) << day;
  }
}

TEST(JsonSchema, LongCountsNeedFewStates) {
  const Grammar grammar = Grammar::compile(
      R"({"type": "string", "minLength": 10000, "maxLength": 10007})", GrammarKind::kJsonSchema);
  EXPECT_LT(grammar.memory_bytes(), size_t{1} << 18);
  for (const size_t length : {9'999u, 10'000u, 10'007u, 10'008u}) {
    EXPECT_EQ(accepts(grammar, '"' + std::string(length, 'x') + '"'),
              length >= 10'000 && length <= 10'007)
        << length;
  }
}

TEST(JsonSchema, NumbersBetweenBounds) {
  // Every integer of a wide range, against the bounds themselves.
  for (const auto& [low, high] : {std::pair{-12, 7}, {0, 0}, {5, 1234}, {-300, -18}, {99, 100}}) {
    const std::string schema = R"({"type": "integer", "minimum": )" + std::to_string(low) +
                               R"(, "exclusiveMaximum": )" + std::to_string(high + 1) + "}";
    const Grammar grammar = Grammar::compile(schema, GrammarKind::kJsonSchema);
    for (int i = -1500; i <= 1500; ++i) {
      ASSERT_EQ(accepts(grammar, std::to_string(i)), i >= low && i <= high) << schema << " " << i;
    }
  }
}

TEST(JsonSchema, FractionsBetweenBounds) {
  const double bounds[] = {-20.25, -1.5, -0.05, 0, 0.5, 3, 7.125};
  for (const double low : bounds) {
    for (const double high : bounds) {
      if (high <= low) continue;
      for (const bool excluded : {false, true}) {
        const std::string keys = excluded ? "exclusiveM" : "m";
        const std::string schema = fmt::format(
            R"({{"type": "number", "{}inimum": {}, "{}aximum": {}}})", keys, low, keys, high);
        const Grammar grammar = Grammar::compile(schema, GrammarKind::kJsonSchema);
        for (int i = -25 * 1000; i <= 10 * 1000; i += 25) {
          const double x = i / 1000.0;
          const std::string text = x == 0 ? "0" : fmt::format("{}", x);
          ASSERT_EQ(accepts(grammar, text), excluded ? x > low && x < high : x >= low && x <= high)
              << schema << " " << text;
        }
      }
    }
  }
}

TEST(JsonSchema, ReferencesRecurse) {
  const char* schema = R"({"$defs": {"node": {"type": "object", "properties": {
      "value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
      "required": ["value", "next"]}}, "$ref": "#/$defs/node"})";
  EXPECT_TRUE(schema_accepts(schema, R"({"value":1,"next":{"value":2,"next":null}})"));
  EXPECT_FALSE(schema_accepts(schema, R"({"value":1,"next":{"value":2}})"));
}

TEST(JsonSchema, SchemasThatApplyTogether) {
  const char* schema = R"({"allOf": [
      {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
      {"properties": {"a": {"minimum": 3}, "b": {"type": "string"}}, "required": ["b"]}]})";
  EXPECT_TRUE(schema_accepts(schema, R"({"a":3,"b":""})"));
  EXPECT_FALSE(schema_accepts(schema, R"({"a":2,"b":""})"));
  EXPECT_FALSE(schema_accepts(schema, R"({"a":3})"));
  const char* beside = R"({"type": "object", "properties": {"k": {"enum": ["x", "y"]}},
      "required": ["k"], "oneOf": [{"properties": {"k": {"const": "x"}, "n": {"type": "null"}},
      "required": ["n"]}, {"properties": {"k": {"const": "y"}}}]})";
  EXPECT_TRUE(schema_accepts(beside, R"({"k":"x","n":null})"));
  EXPECT_TRUE(schema_accepts(beside, R"({"k":"y"})"));
  EXPECT_FALSE(schema_accepts(beside, R"({"k":"x"})"));
}

TEST(JsonSchema, ElementsOfSchemasThatApplyTogether) {
  // "items" of the outer schema also applies to the place that the inner one describes.
  const char* places = R"({"allOf": [{"prefixItems": [{"type": "integer", "minimum": 3}]}],
                           "items": {"type": "integer", "minimum": 5}})";
  EXPECT_TRUE(schema_accepts(places, "[5,5]"));
  EXPECT_FALSE(schema_accepts(places, "[3,5]"));
  EXPECT_FALSE(schema_accepts(places, "[5,4]"));
  const char* two = R"({"allOf": [{"prefixItems": [{}, {"type": "null"}], "items": false},
                                  {"prefixItems": [{"enum": [1, 2]}]}]})";
  EXPECT_TRUE(schema_accepts(two, "[1,null]"));
  EXPECT_FALSE(schema_accepts(two, "[3,null]"));
  EXPECT_FALSE(schema_accepts(two, "[1,1]"));
  EXPECT_FALSE(schema_accepts(two, "[1,null,1]"));
  EXPECT_NE(
      refusal(R"({"allOf": [{"items": [{}]}, {"prefixItems": [{}]}]})", GrammarKind::kJsonSchema)
          .find("items stands in several schemas"),
      std::string::npos);
}

TEST(JsonSchema, ArraysByCountAndPlace) {
  EXPECT_TRUE(
      schema_accepts(R"({"items": {"type": "integer"}, "minItems": 2, "maxItems": 3})", "[1, 2]"));
  EXPECT_FALSE(schema_accepts(R"({"items": {"type": "integer"}, "minItems": 2})", "[1]"));
  EXPECT_FALSE(schema_accepts(R"({"items": {"type": "integer"}, "maxItems": 2})", "[1,2,3]"));
  const char* places = R"({"prefixItems": [{"type": "null"}, {"type": "boolean"}],
                           "items": {"type": "integer"}, "minItems": 1})";
  EXPECT_TRUE(schema_accepts(places, "[null]"));
  EXPECT_TRUE(schema_accepts(places, "[null,true,1,2]"));
  EXPECT_FALSE(schema_accepts(places, "[]"));
  EXPECT_FALSE(schema_accepts(places, "[true]"));
}

TEST(JsonSchema, RefusesWithNames) {
  const auto refused = [](const char* schema) { return refusal(schema, GrammarKind::kJsonSchema); };
  EXPECT_EQ(refused(R"({"not": {}, "items": {"contains": {}}})"),
            "JSON schema: unsupported keywords contains, not");
  EXPECT_EQ(refused(R"({"multipleOf": 3})"), "JSON schema: unsupported keyword multipleOf");
  EXPECT_EQ(
      refused(R"({"$ref": "https://example.com/s.json"})"),
      "JSON schema: $ref 'https://example.com/s.json' leads outside of the schema, and nothing "
      "is fetched");
  EXPECT_EQ(refused(R"({"$ref": "#/$defs/a"})"), "JSON schema: $ref '#/$defs/a' leads to nothing");
  EXPECT_EQ(refused(R"({"type": "text"})"), "JSON schema: type 'text' is unknown");
  EXPECT_EQ(
      refused("{\"pattern\": \"(?=a)\"}"),
      "JSON schema: pattern '(?=a)': lookahead and lookbehind are not supported in a pattern");
  EXPECT_EQ(refused("[1]"), "JSON schema: a schema is neither an object nor true or false");
}

}  // namespace
}  // namespace longhaul::grammar
