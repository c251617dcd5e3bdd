// Eviction methods on a whole model: with a covering budget they answer like dense attention, and
// with a smaller budget the store shrinks.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/generate.h"
#include "engine/half_way.h"
#include "engine/pass_key_prompt.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

constexpr const char* kWholeReply = "The pass key is 58213.";

struct Evicting {
  const char* name;
  const char* covering;
  const char* small;
  /// Least and most rows per list after a prompt with the small budget, averaged over layers.
  /// Methods that evict in strides end between the budget and one stride more.
  double least, most;
};

class Eviction : public ::testing::TestWithParam<Evicting> {
 protected:
  static void SetUpTestSuite() { engine_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { engine_.reset(); }

  static std::vector<int32_t> prompt() { return testing_support::early_pass_key(*engine_); }

  static GenerateOptions answer() {
    GenerateOptions options;
    options.max_tokens = 24;
    return options;
  }

  static SessionOptions with(const char* method) {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.chunk = 96;
    return options;
  }

  static void expect_small(const Session& session) {
    const SessionReport report = session.report();
    constexpr double kLists = 36;  // 12 layers of 3 KV heads
    EXPECT_GE(static_cast<double>(report.live_rows), kLists * GetParam().least);
    EXPECT_LE(static_cast<double>(report.live_rows), kLists * GetParam().most);
  }

  inline static std::shared_ptr<const Engine> engine_;
};

TEST_P(Eviction, ACoveringBudgetAnswersAsDense) {
  const auto tokens = prompt();
  ASSERT_GT(tokens.size(), 250);
  Session dense(engine_, with("dense")), session(engine_, with(GetParam().covering));
  read_prompt(dense, tokens);
  read_prompt(session, tokens);
  const Reply want = generate(dense, answer());
  EXPECT_EQ(want.text, kWholeReply);
  EXPECT_EQ(generate(session, answer()).text, want.text);
  EXPECT_EQ(session.report().live_rows, dense.report().live_rows);
  EXPECT_GE(session.report().kv_bytes, dense.report().kv_bytes);
  EXPECT_LT(session.report().kv_bytes, dense.report().kv_bytes * 11 / 10);  // includes sums of rows
}

TEST_P(Eviction, ASmallBudgetHoldsLessMemory) {
  const auto tokens = prompt();
  Session dense(engine_, with("dense")), session(engine_, with(GetParam().small));
  read_prompt(dense, tokens);
  read_prompt(session, tokens);
  EXPECT_EQ(dense.report().live_rows, 36 * std::ssize(tokens));
  expect_small(session);
  EXPECT_LT(session.report().kv_bytes, dense.report().kv_bytes / 2);
}

TEST_P(Eviction, ACancelledPromptCanBeFollowedByAnother) {
  Session session(engine_, with(GetParam().covering));
  CancelFlag cancel;
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  hooks.progress = [&](int64_t, int64_t) { cancel.request(); };
  EXPECT_FALSE(session.prefill(prompt(), hooks));
  EXPECT_LT(session.tokens().size(), prompt().size());
  read_prompt(session, prompt());
  EXPECT_EQ(generate(session, answer()).text, kWholeReply);
}

TEST_P(Eviction, ACancelledPromptThatDoesNotFitIsReadOn) {
  const auto tokens = prompt();
  Session session(engine_, with(GetParam().small));
  CancelFlag cancel;
  ASSERT_FALSE(session.prefill(tokens, testing_support::until_half_way(cancel)));
  const size_t read = session.tokens().size();
  EXPECT_GE(3 * read, tokens.size()) << "at most the pass in the middle is taken back";
  ASSERT_LT(read, tokens.size());
  ASSERT_TRUE(session.prefill(std::span<const int32_t>(tokens).subspan(read)));
  EXPECT_TRUE(std::ranges::equal(session.tokens(), tokens));
  expect_small(session);
  for (const float logit : session.logits()) ASSERT_TRUE(std::isfinite(logit));
}

INSTANTIATE_TEST_SUITE_P(
    Methods, Eviction,
    ::testing::Values(Evicting{"snapkv", "snapkv", "snapkv:capacity=64,window=16", 64, 64},
                      Evicting{"pyramidkv", "pyramidkv", "pyramidkv:capacity=72", 72.5, 72.5},
                      Evicting{"tova", "tova", "tova:capacity=64,stride=32", 64, 64},
                      Evicting{"tova_easykv", "tova:mode=easykv",
                               "tova:mode=easykv,capacity=48,stride=16", 48, 64},
                      Evicting{"h2o", "h2o", "h2o:budget=48,stride=16", 48, 64},
                      Evicting{"h2o_oneshot", "h2o:mode=oneshot", "h2o:mode=oneshot,budget=64", 64,
                               64},
                      Evicting{"roco", "roco", "roco:budget=48,stride=16", 48, 64}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace longhaul
