// The searches on nano: their results, resuming from files with equal numbers, and cancelled steps
// without effect.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "calibrate/ltri_search.h"
#include "calibrate/pattern_search.h"
#include "calibrate/reattention_settings.h"
#include "eval/nano.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::nano;
using testing_support::TempFolder;
using testing_support::test_data;

/// Runs `whole` to its end, and an equal search in two parts with a file in between.
template <class Search>
void in_parts(Search& whole, Search& first, Search& rest) {
  const TempFolder folder;
  const auto file = folder.path() / "state";
  EXPECT_TRUE(first.advance(nullptr));
  first.save(file);
  rest.restore(file);
  EXPECT_EQ(rest.done(), 1);
  while (!rest.finished()) EXPECT_TRUE(rest.advance(nullptr));
  while (!whole.finished()) EXPECT_TRUE(whole.advance(nullptr));
  EXPECT_THROW(rest.restore(folder.write("other", "{\"training\": \"duo\"}")), UserError);
  EXPECT_THROW(rest.restore(folder.write("broken", "{}")), UserError);
}

LtriSearchSettings ltri_settings() {
  LtriSearchSettings s;
  s.tasks = {"fact", "magic"};
  s.lengths = {512};
  s.samples = 1;
  s.chat = nano()->chat_template();
  s.spans.trials = 12;
  s.init = 0;  // the first fact is at the beginning
  s.block = 32;
  return s;
}

TEST(LtriSearch, FindsHeadsAndThresholdsAndGoesOnFromItsFile) {
  const LtriSearchSettings settings = ltri_settings();
  LtriSearch whole(nano(), test_data(), settings), first(nano(), test_data(), settings),
      rest(nano(), test_data(), settings);
  in_parts(whole, first, rest);
  EXPECT_EQ(whole.total(), 2);
  EXPECT_EQ(rest.found().scores, whole.found().scores);
  EXPECT_EQ(rest.spans().numbers(), whole.spans().numbers());
  EXPECT_EQ(rest.options(), whole.options());
  EXPECT_EQ(whole.found().counted, 2);
  ASSERT_FALSE(whole.retrieval().empty());
  EXPECT_GE(whole.retrieval().front().layer, 5) << "nano's heads begin there (its README)";
  EXPECT_EQ(whole.spans().best(6).blocks, 2);
  EXPECT_GE(whole.spans().best(6).f1, whole.spans().best(6).usual);

  // One profile serves both forms.
  const nlohmann::ordered_json options = whole.options();
  std::string text;
  for (const auto& [key, value] : options.items()) {
    if (key == "form") continue;
    text += fmt::format(",{}={}", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  ModelShape shape = nano()->model().shape;
  shape.profile_prefix.clear();
  EXPECT_NO_THROW(MethodSpec::parse("ltri:form=paper" + text).make(shape));
}

TEST(LtriSearch, ACancelledPromptCountsForNothing) {
  CancelFlag cancel;
  cancel.request();
  LtriSearch search(nano(), test_data(), ltri_settings());
  EXPECT_FALSE(search.advance(&cancel));
  EXPECT_EQ(search.done(), 0);
  EXPECT_EQ(search.found().asked, 0);
  LtriSearchSettings unknown = ltri_settings();
  unknown.tasks = {"magix"};
  EXPECT_THROW(LtriSearch(nano(), test_data(), unknown), UserError);
}

PatternSearchSettings pattern_settings() {
  PatternSearchSettings s;
  s.tasks = {"fact"};
  s.lengths = {400};
  s.prompts = 2;
  s.chat = nano()->chat_template();
  return s;
}

TEST(PatternSearch, FindsAPatternForEveryHeadAndGoesOnFromItsFile) {
  const PatternSearchSettings settings = pattern_settings();
  PatternSearch whole(nano(), test_data(), settings), first(nano(), test_data(), settings),
      rest(nano(), test_data(), settings);
  in_parts(whole, first, rest);
  const HeadPatterns found = whole.patterns(), again = rest.patterns();
  ASSERT_EQ(found.size(), 12u);
  for (size_t layer = 0; layer < 12; ++layer) {
    ASSERT_EQ(found[layer].size(), 6u);
    for (size_t head = 0; head < 6; ++head) {
      const HeadPattern &a = found[layer][head], &b = again[layer][head];
      EXPECT_TRUE(a.in_range() && a.score > 0.5 && a.score < 1.001) << a.score;
      EXPECT_TRUE(a.kind == b.kind && a.vertical == b.vertical && a.slash == b.slash);
      EXPECT_EQ(a.score, b.score);
    }
  }
  CancelFlag cancel;
  cancel.request();
  PatternSearch none(nano(), test_data(), pattern_settings());
  EXPECT_FALSE(none.advance(&cancel));
  EXPECT_EQ(none.done(), 0);
}

TEST(PatternSearch, OfSeveralPromptsThePatternWithMostAttentionIsTaken) {
  const HeadPattern a{PatternKind::kAShape, 100, 800, 0.9}, b{PatternKind::kBlocks, 8, 0, 0.95};
  HeadPattern a2 = a;
  a2.score = 0.7;
  const HeadPattern list[] = {b, a, a2};
  const HeadPattern best = most_caught(list);
  EXPECT_EQ(best.kind, PatternKind::kAShape);
  EXPECT_DOUBLE_EQ(best.score, 0.8);
  EXPECT_EQ(most_caught(std::span(list).first(2)).kind, PatternKind::kBlocks);
}

TEST(ReattentionSettings, FitTheModelAndTheWindow) {
  const ModelShape& shape = nano()->model().shape;
  for (const int64_t window : {640, 1500, 4096, 8192}) {
    const std::vector<SweptSetting> tried = reattention_settings(window);
    EXPECT_GE(tried.size(), window < 4096 ? 3u : 8u) << window;
    for (const SweptSetting& setting : tried) {
      EXPECT_LE(setting.cost, static_cast<double>(window)) << setting.attention;
      EXPECT_NO_THROW(check_method(MethodSpec::parse(setting.attention), shape, DType::F32,
                                   {.tokens = 2 * window, .instruction = 1}))
          << setting.attention;
    }
    EXPECT_EQ(options_of(tried.front().attention)["span"], 32);
    EXPECT_EQ(options_of(tried.front().attention)["global"], 32);
  }
  EXPECT_THROW(reattention_settings(600), UserError);
}

}  // namespace
}  // namespace longhaul
