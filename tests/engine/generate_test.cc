#include "engine/generate.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr const char* kPassKeyQuestion =
    "The pass key is 58213. Remember it. 58213 is the pass key.\nWhat is the pass key?";
constexpr const char* kGenerated = "The pass key is 58213.";

class Generate : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { engine_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { engine_.reset(); }

  static std::vector<int32_t> prompt(const std::string& text) {
    const std::vector<ChatMessage> messages{{ChatRole::user, text}};
    return engine_->tokenizer().encode(engine_->chat_template().segments(messages, true), false);
  }

  Session session_{engine_, SessionOptions{}};
  inline static std::shared_ptr<const Engine> engine_;
};

TEST_F(Generate, StreamsWhatItReturns) {
  const auto reading = read_prompt(session_, prompt(kPassKeyQuestion));
  EXPECT_TRUE(reading.finished);
  EXPECT_EQ(reading.reused, 0);
  EXPECT_GT(reading.tokens_per_second(), 0);
  std::string streamed;
  const Reply reply =
      generate(session_, {}, [&](std::string_view text) { streamed += std::string(text); });
  EXPECT_EQ(reply.text, kGenerated);
  EXPECT_EQ(streamed, reply.text);
  EXPECT_EQ(reply.stop, StopReason::kEndOfReply);
  EXPECT_TRUE(engine_->tokenizer().end_of_generation(reply.tokens.back()));
  EXPECT_EQ(reply.decode_steps, static_cast<int64_t>(reply.tokens.size()) - 1);
  EXPECT_EQ(static_cast<int64_t>(session_.tokens().size()), reading.tokens + reply.decode_steps);
}

TEST_F(Generate, StopStringsMaySpanTokens) {
  // Splits the answer at every place, including the borders of tokens.
  for (size_t at = 1; at + 3 < std::string(kGenerated).size(); ++at) {
    read_prompt(session_, prompt(kPassKeyQuestion));
    GenerateOptions options;
    options.stop = {std::string(kGenerated).substr(at, 3)};
    std::string streamed;
    const Reply reply =
        generate(session_, options, [&](std::string_view text) { streamed += std::string(text); });
    EXPECT_EQ(reply.text, std::string(kGenerated).substr(0, at));
    EXPECT_EQ(streamed, reply.text);
    EXPECT_EQ(reply.stop, StopReason::kStopString);
  }
}

TEST_F(Generate, AStopThatNeverComesTakesNothingAway) {
  read_prompt(session_, prompt(kPassKeyQuestion));
  GenerateOptions options;
  options.stop = {".\n\nAnd more"};
  EXPECT_EQ(generate(session_, options).text, kGenerated);
}

TEST_F(Generate, LimitsHold) {
  read_prompt(session_, prompt(kPassKeyQuestion));
  GenerateOptions options;
  options.max_tokens = 4;
  Reply reply = generate(session_, options);
  EXPECT_EQ(reply.stop, StopReason::kMaxTokens);
  EXPECT_EQ(reply.tokens.size(), 4);
  EXPECT_EQ(reply.decode_steps, 3);
  options.max_tokens = 0;
  read_prompt(session_, prompt(kPassKeyQuestion));
  EXPECT_TRUE(generate(session_, options).tokens.empty());

  const auto tokens = prompt(kPassKeyQuestion);
  SessionOptions small;
  small.context = static_cast<int64_t>(tokens.size()) + 3;
  Session bounded(engine_, small);
  read_prompt(bounded, tokens);
  reply = generate(bounded, {});
  EXPECT_EQ(reply.stop, StopReason::kContextFull);
  EXPECT_EQ(bounded.tokens().size(), tokens.size() + 3);
  small.context = static_cast<int64_t>(tokens.size()) - 1;
  Session too_small(engine_, small);
  EXPECT_THROW(read_prompt(too_small, tokens), UserError);
}

TEST_F(Generate, ACancelledReadingCountsWhatWasRead) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "The harbour was quiet and the boats lay still. ";
  const std::vector<int32_t> tokens = prompt(text);
  SessionOptions options;
  options.chunk = 16;
  Session session(engine_, options);
  CancelFlag cancel;
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  int64_t done = 0;
  hooks.progress = [&](int64_t now, int64_t) {
    done = now;
    if (now >= 40) cancel.request();
  };
  const PromptReading stopped = read_prompt(session, tokens, hooks);
  EXPECT_FALSE(stopped.finished);
  EXPECT_GE(done, 40);
  EXPECT_LT(done, stopped.tokens);
  const auto kept = static_cast<int64_t>(session.tokens().size());
  EXPECT_LE(kept, done) << "the pass that was interrupted is taken back";
  EXPECT_GT(kept, done - options.chunk);
  EXPECT_EQ(stopped.read, kept);
  EXPECT_DOUBLE_EQ(stopped.tokens_per_second() * stopped.seconds, static_cast<double>(kept));

  const PromptReading rest = read_prompt(session, tokens);
  EXPECT_TRUE(rest.finished);
  EXPECT_EQ(rest.reused, kept);
  EXPECT_EQ(rest.read, rest.tokens - kept);
}

TEST_F(Generate, CancelsBetweenTokens) {
  read_prompt(session_, prompt(kPassKeyQuestion));
  CancelFlag cancel;
  GenerateOptions options;
  options.cancel = &cancel;
  const Reply reply = generate(session_, options, [&](std::string_view) { cancel.request(); });
  EXPECT_EQ(reply.stop, StopReason::kCancelled);
  EXPECT_FALSE(reply.text.empty());
  EXPECT_LT(reply.text.size(), std::string(kGenerated).size());
}

TEST_F(Generate, ASecondQuestionReadsOnlyItself) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "The harbour was quiet and the boats lay still. ";
  text += "The pass key is 58213. Remember it. 58213 is the pass key.\n";
  const auto first = prompt(text + "What is the best thing to do in Geneva?");
  const auto second = prompt(text + "What is the pass key?");
  read_prompt(session_, first);
  generate(session_, {});
  const auto reading = read_prompt(session_, second);
  EXPECT_GT(reading.reused, reading.tokens - 20);
  const Reply reply = generate(session_, {});
  EXPECT_EQ(reply.text, kGenerated);

  Session fresh(engine_, SessionOptions{});
  read_prompt(fresh, second);
  EXPECT_EQ(generate(fresh, {}).tokens, reply.tokens);
}

TEST_F(Generate, RefusesAnEmptyPrompt) {
  EXPECT_THROW(read_prompt(session_, std::vector<int32_t>{}), UserError);
}

}  // namespace
}  // namespace longhaul
