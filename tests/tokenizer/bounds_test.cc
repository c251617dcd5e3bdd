// Cost of hostile tokenizer files: time and memory stay proportional to the text. Time limits are
// far above normal times on any machine.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/clock.h"
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

Tokenizer with_part(const char* key, const char* part) {
  json document = json::parse(R"({
    "added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0, "h": 1}, "merges": []}})");
  document[key] = json::parse(part);
  return Tokenizer(parse_tokenizer_json(document.dump(), "t.json"));
}

TEST(TokenizerBounds, AMatchThatBeginsBeforeItsSearchIsRefused) {
  const Tokenizer tokenizer = with_part("pre_tokenizer", R"j({"type": "Split",
      "pattern": {"Regex": "(?(DEFINE)(?<k>\\Ka))(?<=(?&k))"}, "behavior": "Isolated"})j");
  EXPECT_TRUE(has(error_of([&] { tokenizer.encode("hah"); }),
                  {"t.json: pre_tokenizer.pattern.Regex", "from byte 1 to 2", "from byte 2 on"}));
}

TEST(TokenizerBounds, AMatchThatEndsBeforeItBeginsIsRefused) {
  const Tokenizer tokenizer = with_part("pre_tokenizer", R"j({"type": "Split",
      "pattern": {"Regex": "(?(DEFINE)(?<k>hh\\K))(?=(?&k))h"}, "behavior": "Isolated"})j");
  EXPECT_TRUE(has(error_of([&] { tokenizer.encode("hhh"); }), {"t.json", "from byte 2 to 1"}));
}

TEST(TokenizerBounds, KeptPartsOfOrdinaryPatternsStay) {
  const Tokenizer tokenizer = with_part("pre_tokenizer", R"j({"type": "Split",
      "pattern": {"Regex": "h\\Ka"}, "behavior": "Removed"})j");
  EXPECT_EQ(tokenizer.encode("haah"), (std::vector<int32_t>{1, 0, 1}));
}

TEST(TokenizerBounds, SlowPatternsEndWithTheirBudget) {
  PreTokenizer pre;
  pre.add({Regex("(?=.*x)|a", "t.json")});
  const std::string text(size_t{1} << 20, 'a');  // every search scans the rest of the text
  EXPECT_EQ(error_of([&] {
              const CpuLimit limit(0.1, "too slow");
              pre.split(text);
            }),
            "too slow");
}

std::string growing_steps(int steps, size_t times) {
  json list = json::array();
  for (int i = 0; i < steps; ++i) {
    list.push_back({{"type", "Replace"},
                    {"pattern", {{"String", "h"}}},
                    {"content", std::string(times, 'h')}});
  }
  return json{{"type", "Sequence"}, {"normalizers", list}}.dump();
}

TEST(TokenizerBounds, NormalizersThatMakeTextsGrowAreRefused) {
  const Tokenizer tokenizer = with_part("normalizer", growing_steps(6, 1000).c_str());
  EXPECT_TRUE(has(error_of([&] { tokenizer.encode("hah"); }),
                  {"t.json", "normalizer", "text of 3", "64 times the text and 1 MiB"}));
}

TEST(TokenizerBounds, GrowthOfOrdinaryNormalizersPasses) {
  const Tokenizer tokenizer = with_part("normalizer", growing_steps(1, 60).c_str());
  EXPECT_EQ(tokenizer.encode(std::string(100'000, 'h')).size(), 6'000'000u);
}

TEST(TokenizerBounds, PrependingIsGrowthToo) {
  const std::string large(size_t{2} << 20, 'h');
  const std::string step = json{{"type", "Prepend"}, {"prepend", large}}.dump();
  const Tokenizer tokenizer = with_part("normalizer", step.c_str());
  EXPECT_TRUE(has(error_of([&] { tokenizer.encode("h"); }), {"t.json", "normalizer"}));
}

TEST(TokenizerBounds, SymbolsCountBytesInSixtyFourBits) {
  static_assert(sizeof(Symbol::begin) == 8 && sizeof(Symbol::bytes) == 8);
}

/// Pairs whose hashes collide under the golden-ratio multiplier, which the table once used. Their
/// products agree in all bits that the table used.
TEST(TokenizerBounds, MergesChosenToCollideDoNot) {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  uint64_t inverse = 1;
  for (int i = 0; i < 6; ++i) inverse *= 2 - kMultiplier * inverse;  // Newton, modulo 2^64
  ASSERT_EQ(inverse * kMultiplier, 1u);
  MergeTable table;
  const Stopwatch watch;
  size_t added = 0;
  for (uint64_t i = 1; added < 200'000; ++i) {
    const uint64_t key = i * inverse;  // the product is i: its upper half is zero
    const auto left = static_cast<int32_t>(key >> 32), right = static_cast<int32_t>(key);
    if (left < 0 || right < 0) continue;
    table.add(left, right, {0, 0});
    ++added;
  }
  EXPECT_EQ(table.size(), added);
  EXPECT_LT(watch.seconds(), 5.0);  // scanning all entries each time would take minutes
}

TEST(TokenizerBounds, LongAddedTokensTakeLinearTime) {
  const std::string a(10'000, 'a');
  const AddedTokens tokens({{a + "b", 0}, {"b" + a, 1}, {"aa", 2}});
  const std::string text(size_t{4} << 20, 'a');
  const Stopwatch watch;
  EXPECT_EQ(tokens.find_all(text, true).size(), size_t{2} << 20);
  EXPECT_LT(watch.seconds(), 10.0);  // 10,000 steps per byte would take minutes
}

TEST(TokenizerBounds, AddedTokensTogetherHaveALimit) {
  EXPECT_TRUE(has(error_of([] {
                    AddedTokens({{std::string(AddedTokens::kMostBytes + 1, 'a'), 0}}, "t.json");
                  }),
                  {"t.json", "added tokens have 8388609 bytes"}));
}

/// The rule in its simplest form.
std::vector<std::pair<size_t, int32_t>> leftmost_longest(const std::vector<AddedToken>& tokens,
                                                         std::string_view text, bool special) {
  std::vector<std::pair<size_t, int32_t>> out;
  for (size_t at = 0; at < text.size();) {
    const AddedToken* best = nullptr;
    for (const AddedToken& token : tokens) {
      if (token.special && !special) continue;
      if (!text.substr(at).starts_with(token.text)) continue;
      if (best == nullptr || token.text.size() > best->text.size()) best = &token;
    }
    if (best != nullptr) out.emplace_back(at, best->id);
    at += best == nullptr ? 1 : best->text.size();
  }
  return out;
}

TEST(TokenizerBounds, AddedTokensAreTheLeftmostAndThereTheLongest) {
  std::mt19937 random(7);
  const auto draw = [&](size_t most) {
    std::string text;
    for (size_t n = 1 + random() % most; n > 0; --n) text += "ab\xff"[random() % 3];
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<AddedToken> tokens;
    for (int32_t id = 0; id < 6; ++id) {
      const std::string text = draw(5);
      const auto same = [&](const AddedToken& token) { return token.text == text; };
      if (std::any_of(tokens.begin(), tokens.end(), same)) continue;
      tokens.push_back({text, id, random() % 2 == 0});
    }
    const AddedTokens added(tokens);
    const std::string text = draw(40);
    for (const bool special : {false, true}) {
      std::vector<std::pair<size_t, int32_t>> found;
      for (const auto& match : added.find_all(text, special)) {
        found.emplace_back(match.begin, match.token->id);
        ASSERT_EQ(text.substr(match.begin, match.end - match.begin), match.token->text);
      }
      ASSERT_EQ(found, leftmost_longest(tokens, text, special)) << round;
    }
  }
}

TEST(TokenizerBounds, FilesThatAreTooLargeAreNamed) {
  const TempFolder folder;
  std::ofstream(folder.path() / "tokenizer.json") << "{}";
  // Sparse file.
  std::filesystem::resize_file(folder.path() / "tokenizer.json", uintmax_t{3} << 30);
  EXPECT_TRUE(has(error_of([&] { load_tokenizer_folder(folder.path()); }),
                  {"tokenizer.json: 3.0 GiB", "up to 128.0 MiB"}));
}

}  // namespace
}  // namespace longhaul
