// Loading and use of a tokenizer obey limits of time, depth and memory. Each test has a file that
// reaches a limit, and the resulting line. Limits of minutes are shortened, since the work that
// they stop would take as long.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/cpu_limit.h"
#include "base/error_of.h"
#include "format/temp_folder.h"
#include "tokenizer/load_parts.h"
#include "tokenizer/load_tokenizer.h"

namespace longhaul {
namespace {

using nlohmann::json;
using testing_support::error_of;
using testing_support::has;
using testing_support::TempFolder;

struct ShorterLimits {
  explicit ShorterLimits(double share, double share_of_grace = 1) {
    CpuLimit::scale(share, share_of_grace);
  }
  ~ShorterLimits() { CpuLimit::scale(1); }
};

json three_letters() {
  return json::parse(R"({"added_tokens": [],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "h": 2}, "merges": []}})");
}

Tokenizer with_pattern(const char* pattern) {
  json document = three_letters();
  document["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}};
  return Tokenizer(parse_tokenizer_json(document.dump(), "t.json"));
}

std::string error_of_file(const json& document) {
  return error_of([&] { parse_tokenizer_json(document.dump(), "t.json"); });
}

/// Scans all following bytes from every byte.
constexpr const char* kSlowPattern = "(?=.*x)|a";

TEST(LimitsInForce, TimeOfATextAndOfItsSegments) {
  const Tokenizer tokenizer = with_pattern(kSlowPattern);
  const std::string text(size_t{1} << 20, 'a');
  const ShorterLimits limits(0.001);
  const std::string_view line =
      "t.json: this tokenizer takes more than 60 s of processor time for 1.0 MiB";
  EXPECT_TRUE(has(error_of([&] { tokenizer.encode(text); }), {line}));
  const std::vector<TextSegment> segments = {{text.substr(1), false}, {"a", true}};
  EXPECT_TRUE(has(error_of([&] { tokenizer.encode(segments, true); }), {line}));
}

TEST(LimitsInForce, ASearchThatDoesNotReturnEndsTheProgramWithTheSameLine) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        const Tokenizer tokenizer = with_pattern("(?:a|aa)+(?:a|aa)+$");
        const ShorterLimits limits(0.0005, 0.001);
        tokenizer.encode(std::string(100, 'a') + "b");
      },
      testing::ExitedWithCode(2), "^error: t.json: this tokenizer takes more than 30 s");
}

/// Each token of a thousand bytes has a thousand places for a split, and all are tried.
TEST(LimitsInForce, TimeToReadATokenizer) {
  const TempFolder folder;
  const std::string zeros(1200, 'A');  // base64: 900 zero bytes
  std::string lines;
  for (int rank = 0; rank < 4000; ++rank) lines += fmt::format("{}{:04} {}\n", zeros, rank, rank);
  folder.write("tokenizer.model", lines);
  const ShorterLimits limits(0.0005);
  EXPECT_TRUE(has(error_of([&] { load_tokenizer_folder(folder.path()); }),
                  {folder.path().string() + ": reading this tokenizer takes more than 120 s of "
                                            "processor time"}));
}

TEST(LimitsInForce, CallsOfAPatternWithinEachOther) {
  const Tokenizer tokenizer = with_pattern("(a(?1)?b)");
  const size_t deep = 4'000'000;
  EXPECT_TRUE(
      has(error_of([&] { tokenizer.encode(std::string(deep, 'a') + std::string(deep, 'b')); }),
          {"t.json: pre_tokenizer.pattern.Regex: the pattern cannot be matched", "limit"}));
}

TEST(LimitsInForce, LevelsOfAFile) {
  const std::string open(65, '['), close(65, ']');
  for (const std::string& text : {"{\"normalizer\": " + open + close + "}", open + close}) {
    EXPECT_EQ(error_of([&] { parse_tokenizer_json(text, "t.json"); }),
              "t.json: is nested deeper than 64");
  }
}

TEST(LimitsInForce, ValuesOfAFile) {
  std::string text = "[[]";
  for (int i = 0; i < 4'000'000; ++i) text += ",[]";
  EXPECT_EQ(error_of([&] { parse_tokenizer_json(text + "]", "t.json"); }),
            "t.json: has 8000003 values; at most 8000000 are read");
}

TEST(LimitsInForce, TokensThatAFilePutsAroundATextAreFew) {
  json document = three_letters();
  const json part = {{"SpecialToken", {{"id", "s"}}}};
  document["post_processor"] = {{"type", "TemplateProcessing"},
                                {"single", std::vector<json>(64, part)},
                                {"special_tokens", {{"s", {{"ids", std::vector<int>(16)}}}}}};
  EXPECT_EQ(Tokenizer(parse_tokenizer_json(document.dump(), "t.json")).encode("").size(), 1024u);
  document["post_processor"]["single"].push_back(part);
  EXPECT_EQ(error_of_file(document),
            "t.json: post_processor.single: puts more than 1024 tokens around a text");
}

/// Prepended text is added before every stretch between added tokens.
TEST(LimitsInForce, GrowthOfAllStretchesTogether) {
  json document = three_letters();
  document["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(1000, 'h')}};
  document["added_tokens"] = {{{"id", 3}, {"content", "<x>"}, {"special", false}}};
  const Tokenizer tokenizer(parse_tokenizer_json(document.dump(), "t.json"));
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "a<x>";
  EXPECT_EQ(tokenizer.encode(text).size(), 1'002'000u);
  for (int i = 0; i < 1000; ++i) text += "a<x>";
  EXPECT_TRUE(has(error_of([&] { tokenizer.encode(text); }),
                  {"t.json: the normalizer makes", "of a text of 8000", "64 times the text"}));
}

}  // namespace
}  // namespace longhaul
