#include "engine/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error_of.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;

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
  EXPECT_EQ(error_of([] { perplexity_windows(1, 4, 4); }),
            "the text has 1 token; at least 2 are needed");
  EXPECT_EQ(error_of([] { perplexity_windows(1000, 4000, 1, 2000); }),
            "the text has 1,000 tokens; at least 2,001 are needed");
  EXPECT_THROW(perplexity_windows(10, 4, 4, 4), UserError);
  EXPECT_THROW(perplexity_windows(10, 4, 4, -1), UserError);
  EXPECT_THROW(perplexity_windows(3, 8, 4, 3), UserError);
}

TEST(PerplexityWindows, APromptIsNotScored) {
  const auto windows = perplexity_windows(20, 8, 3, 5);
  ASSERT_EQ(windows.size(), 5u);
  int64_t next = 5;
  for (const PerplexityWindow& w : windows) {
    EXPECT_EQ(w.first_scored, next);
    EXPECT_EQ(w.first_scored, w.begin + 5);
    next = w.end;
  }
  EXPECT_EQ(next, 20);
}

TEST(Perplexity, EqualsTransformersInF32) {
  const Golden golden;
  ASSERT_EQ(golden.tokens.size(), golden.facts["tokens"].get<size_t>());
  SessionOptions options;
  options.compute = Compute::kF32;
  options.kv_type = DType::F32;
  for (const auto& expected : golden.facts["results"]) {
    if (expected["ctx"] == 2048 && expected["stride"] == 256)
      continue;  // takes a minute on a slow machine
    // The long windows cover the whole text; of the others the first ones suffice.
    const bool part = expected["ctx"] < 2048, overlap = expected["stride"] < expected["ctx"];
    const auto tokens = std::span(golden.tokens)
                            .first(overlap ? 1537
                                   : part  ? 2049
                                           : golden.tokens.size());
    const auto result = measure_perplexity(
        golden.engine, options, tokens, {.window = expected["ctx"], .stride = expected["stride"]});
    ASSERT_TRUE(result.finished);
    const auto sums = expected["window_sum_nll"].get<std::vector<double>>();
    if (!part) {
      EXPECT_EQ(result.tokens_scored, expected["tokens_scored"].get<int64_t>());
      EXPECT_NEAR(result.mean(), expected["mean_nll"].get<double>(), 1e-4);
      ASSERT_EQ(result.window_sums.size(), sums.size());
    }
    const size_t whole = result.window_sums.size() - (part ? 1 : 0);
    ASSERT_GE(whole, 4u);
    for (size_t i = 0; i < whole; ++i) {
      EXPECT_NEAR(result.window_sums[i], sums[i], 2e-4 * sums[i]) << "window " << i;
    }
  }
}

TEST(Perplexity, StaysWithin3PermilleInBf16) {
  const Golden golden;
  const auto& expected = golden.facts["results"][1];
  const auto result = measure_perplexity(golden.engine, SessionOptions{}, golden.tokens,
                                         {.window = expected["ctx"], .stride = expected["stride"]});
  const double perplexity = expected["perplexity"];
  EXPECT_NEAR(result.perplexity(), perplexity, 0.003 * perplexity);
}

TEST(Perplexity, OfGeneratedTokensEqualsThatOfPromptsWhereNothingIsForgotten) {
  const Golden golden;
  SessionOptions options;
  options.compute = Compute::kF32;
  options.kv_type = DType::F32;
  const std::span<const int32_t> text = std::span(golden.tokens).first(300);
  // Windows of 128 tokens with the last 28 scored, once as a prompt and once as a reply.
  const auto reply = measure_perplexity(golden.engine, options, text,
                                        {.window = 128, .stride = 28, .prefill = 100});
  ASSERT_TRUE(reply.finished);
  EXPECT_EQ(reply.tokens_scored, 200);
  double prompts = 0;
  for (size_t window = 0; window < reply.window_sums.size(); ++window) {
    Session session(golden.engine, options);
    const auto part = text.subspan(28 * window, std::min<size_t>(128, 300 - 28 * window));
    PrefillHooks hooks;
    hooks.all_logits = [&](int64_t first, int64_t rows, const float* logits) {
      for (int64_t r = 0; r < rows; ++r) {
        const auto next = static_cast<size_t>(first + r + 1);
        if (next < 100 || next >= part.size()) continue;
        prompts += negative_log_likelihood(logits + r * 4096, 4096, part[next]);
      }
    };
    session.prefill(part, hooks);
  }
  EXPECT_NEAR(reply.sum, prompts, 1e-3 * prompts);
}

TEST(Perplexity, AnInstructionIsReadButNotScored) {
  const Golden golden;
  const std::span<const int32_t> text = std::span(golden.tokens).first(200);
  SessionOptions options;
  const PerplexityPlan plain{.window = 100, .stride = 100};
  PerplexityPlan asked = plain;
  asked.instruction = golden.engine->tokenizer().encode("Go on.", {.add_special = false});
  const auto without = measure_perplexity(golden.engine, options, text, plain);
  const auto dense = measure_perplexity(golden.engine, options, text, asked);
  EXPECT_EQ(dense.tokens_scored, without.tokens_scored);
  // The instruction follows the scored part.
  EXPECT_NEAR(dense.sum, without.sum, 1e-3 * without.sum);
  options.attention = MethodSpec::parse("citrus:k=200");
  EXPECT_THROW(measure_perplexity(golden.engine, options, text, plain), UserError);
  EXPECT_NEAR(measure_perplexity(golden.engine, options, text, asked).sum, without.sum,
              0.01 * without.sum);
  asked.prefill = 60;
  asked.stride = 40;
  int64_t done = 0, total = 0;
  PerplexityHooks hooks;
  hooks.progress = [&](int64_t d, int64_t t, const PerplexityResult&) {
    EXPECT_GE(d, done);  // each layer of a pass of a few tokens reports
    done = d;
    total = t;
  };
  const auto result = measure_perplexity(golden.engine, options, text, asked, hooks);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.tokens_scored, 140);
  EXPECT_EQ(done, total);
}

TEST(Perplexity, OfATokenThatTheWeightsDoNotKnowIsRefused) {
  const Golden golden;
  for (const size_t at : {size_t{50}, size_t{99}}) {  // 99 is scored but never read
    std::vector<int32_t> text(golden.tokens.begin(), golden.tokens.begin() + 100);
    text[at] = 4096;
    for (const int64_t prefill : {0, 20}) {
      const PerplexityPlan plan{.window = 100, .stride = 100, .prefill = prefill};
      EXPECT_TRUE(
          has(error_of([&] { measure_perplexity(golden.engine, SessionOptions{}, text, plan); }),
              {"its tokenizer gives token 4096, its weights know only 4096"}));
    }
  }
}

TEST(Perplexity, TokensThatAreReadLikeAReplyAreForecastLikeOne) {
  const Golden golden;
  SessionOptions options;
  options.attention = MethodSpec::parse("h2o:budget=64,stride=16,recent=8");  // also keeps replies
  const PerplexityPlan plan{.window = 1000, .stride = 1000, .prefill = 100};
  const auto text = std::span(golden.tokens).first(1000);
  options.memory_limit =
      Session(golden.engine, options).forecast(100).total() + 1000 * 12 * 3 * 64 * 2 * 2 / 2;
  EXPECT_TRUE(has(error_of([&] { measure_perplexity(golden.engine, options, text, plan); }),
                  {"100 tokens and a reply of up to 899", "--memory-limit"}));
  options.memory_limit = 0;
  EXPECT_TRUE(measure_perplexity(golden.engine, options, text, plan).finished);
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
  const auto result = measure_perplexity(golden.engine, SessionOptions{}, golden.tokens,
                                         {.window = 512, .stride = 512}, hooks);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.window_sums.size(), 3);
  EXPECT_EQ(result.windows, 13) << "each has a token that is not read, its last";
  EXPECT_EQ(expected_total, static_cast<int64_t>(golden.tokens.size()) - 13);
}

}  // namespace
}  // namespace longhaul
