// Methods that forget keys, on a whole model: with a covering budget they answer as dense does,
// with a smaller one the store really shrinks, and a saved session goes on as if it had not been
// saved.

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/generate.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

constexpr const char* kAnswer = "The pass key is 58213.";

struct Evicting {
  const char* covering;
  const char* small;
  double kept;  ///< rows per list after the prompt with the small budget, on average over layers
};

class Eviction : public ::testing::TestWithParam<Evicting> {
 protected:
  static void SetUpTestSuite() { engine_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { engine_.reset(); }

  static std::vector<int32_t> encode(const std::string& text) {
    const std::vector<ChatMessage> messages{{ChatRole::user, text}};
    return engine_->tokenizer().encode(engine_->chat_template().segments(messages, true), false);
  }

  /// About 300 tokens with the answer early.
  static std::vector<int32_t> prompt() {
    std::string text = "The pass key is 58213. Remember it. 58213 is the pass key.\n";
    for (int i = 0; i < 22; ++i) text += "The harbour was quiet and the boats lay still. ";
    return encode(text + "\nWhat is the pass key?");
  }

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

  inline static std::shared_ptr<const Engine> engine_;
};

TEST_P(Eviction, ACoveringBudgetAnswersAsDense) {
  const auto tokens = prompt();
  ASSERT_GT(tokens.size(), 250);
  Session dense(engine_, with("dense")), session(engine_, with(GetParam().covering));
  read_prompt(dense, tokens);
  read_prompt(session, tokens);
  const Reply want = generate(dense, answer());
  EXPECT_EQ(want.text, kAnswer);
  EXPECT_EQ(generate(session, answer()).text, want.text);
  EXPECT_EQ(session.report().kv_bytes, dense.report().kv_bytes);
}

TEST_P(Eviction, ASmallBudgetHoldsLessMemory) {
  const auto tokens = prompt();
  Session dense(engine_, with("dense")), session(engine_, with(GetParam().small));
  read_prompt(dense, tokens);
  read_prompt(session, tokens);
  const SessionReport all = dense.report(), kept = session.report();
  const int64_t lists = all.live_rows / static_cast<int64_t>(tokens.size());
  EXPECT_EQ(static_cast<double>(kept.live_rows), static_cast<double>(lists) * GetParam().kept);
  EXPECT_LT(kept.kv_bytes, all.kv_bytes / 2);
}

TEST_P(Eviction, ASavedSessionGoesOn) {
  const testing_support::TempFolder folder;
  const auto file = folder.path() / "session";
  Session session(engine_, with(GetParam().small)), loaded(engine_, with(GetParam().small));
  GenerateOptions few;
  few.max_tokens = 8;
  read_prompt(session, prompt());
  generate(session, few);
  session.save(file);
  loaded.load(file);
  const auto second = encode("Name the pass key once more, and say how quiet the harbour was.");
  ASSERT_TRUE(session.prefill(second));
  ASSERT_TRUE(loaded.prefill(second));
  EXPECT_EQ(generate(loaded, few).tokens, generate(session, few).tokens);
  EXPECT_EQ(loaded.report().live_rows, session.report().live_rows);
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
  EXPECT_EQ(generate(session, answer()).text, kAnswer);
}

INSTANTIATE_TEST_SUITE_P(Methods, Eviction,
                         ::testing::Values(Evicting{"snapkv", "snapkv:capacity=64,window=16", 64},
                                           Evicting{"pyramidkv", "pyramidkv:capacity=72", 72.5},
                                           Evicting{"tova", "tova:capacity=64,stride=32", 64},
                                           Evicting{"h2o", "h2o:mode=oneshot,budget=64", 64}),
                         [](const auto& test) { return std::string(test.param.covering); });

}  // namespace
}  // namespace longhaul
