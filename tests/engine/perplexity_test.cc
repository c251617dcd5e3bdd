#include "engine/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"

namespace longhaul {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Golden {
  nlohmann::json facts =
      nlohmann::json::parse(read_file(LONGHAUL_TEST_DATA "/goldens/perplexity/nano.json"));
  std::string text =
      read_file(LONGHAUL_TEST_DATA "/goldens/perplexity/" + facts["text"].get<std::string>());
  std::shared_ptr<const Engine> engine = Engine::open(LONGHAUL_MODELS "/nano");
  std::vector<int32_t> tokens = engine->tokenizer().encode(text);
};

TEST(PerplexityWindows, FollowTheDefinition) {
  const auto whole = perplexity_windows(10, 4, 4);
  ASSERT_EQ(whole.size(), 3);
  EXPECT_EQ(whole[1].begin, 4);
  EXPECT_EQ(whole[1].first_scored, 5);
  EXPECT_EQ(whole[2].end, 10);
  const auto overlapping = perplexity_windows(10, 4, 2);
  ASSERT_EQ(overlapping.size(), 4);
  EXPECT_EQ(overlapping[3].begin, 6);
  EXPECT_EQ(overlapping[3].first_scored, 8);
}

TEST(PerplexityWindows, ScoreEachTokenAtMostOnce) {
  for (int64_t tokens = 2; tokens < 40; ++tokens) {
    for (int64_t window = 2; window < 12; ++window) {
      for (int64_t stride = 1; stride <= window; ++stride) {
        int64_t scored = 0, next = 1;
        for (const auto& w : perplexity_windows(tokens, window, stride)) {
          EXPECT_GE(w.first_scored, next);
          EXPECT_LE(w.end - w.begin, window);
          scored += std::max<int64_t>(0, w.end - w.first_scored);
          next = w.end;
        }
        EXPECT_EQ(next, tokens);
        if (stride < window) {
          EXPECT_EQ(scored, tokens - 1);
        }
      }
    }
  }
}

TEST(PerplexityWindows, RefuseNonsense) {
  EXPECT_THROW(perplexity_windows(10, 1, 1), UserError);
  EXPECT_THROW(perplexity_windows(10, 4, 5), UserError);
  EXPECT_THROW(perplexity_windows(10, 4, 0), UserError);
  EXPECT_THROW(perplexity_windows(1, 4, 4), UserError);
}

TEST(Perplexity, EqualsTransformersInF32) {
  const Golden golden;
  ASSERT_EQ(golden.tokens.size(), golden.facts["tokens"].get<size_t>());
  SessionOptions options;
  options.compute = Compute::kF32;
  options.kv_type = DType::F32;
  for (const auto& expected : golden.facts["results"]) {
    if (expected["ctx"] == 2048 && expected["stride"] == 256)
      continue;  // a minute on a slow machine
    const auto result = measure_perplexity(golden.engine, options, golden.tokens, expected["ctx"],
                                           expected["stride"]);
    ASSERT_TRUE(result.finished);
    EXPECT_EQ(result.tokens_scored, expected["tokens_scored"].get<int64_t>());
    EXPECT_NEAR(result.mean(), expected["mean_nll"].get<double>(), 1e-4);
    const auto sums = expected["window_sum_nll"].get<std::vector<double>>();
    ASSERT_EQ(result.window_sums.size(), sums.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      EXPECT_NEAR(result.window_sums[i], sums[i], 2e-4 * sums[i]) << "window " << i;
    }
  }
}

TEST(Perplexity, StaysWithin3PermilleInBf16) {
  const Golden golden;
  const auto& expected = golden.facts["results"][1];
  const auto result = measure_perplexity(golden.engine, SessionOptions{}, golden.tokens,
                                         expected["ctx"], expected["stride"]);
  const double perplexity = expected["perplexity"];
  EXPECT_NEAR(result.perplexity(), perplexity, 0.003 * perplexity);
}

TEST(Perplexity, ReportsAndStops) {
  const Golden golden;
  CancelFlag cancel;
  PerplexityHooks hooks;
  hooks.cancel = &cancel;
  int64_t last = 0, expected_total = 0;
  hooks.progress = [&](int64_t done, int64_t total, const PerplexityResult&) {
    EXPECT_GT(done, last);
    last = done;
    expected_total = total;
    if (done > 1500) cancel.request();
  };
  const auto result =
      measure_perplexity(golden.engine, SessionOptions{}, golden.tokens, 512, 512, hooks);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.window_sums.size(), 3);
  EXPECT_EQ(expected_total, static_cast<int64_t>(golden.tokens.size()) - 13);
}

}  // namespace
}  // namespace longhaul
