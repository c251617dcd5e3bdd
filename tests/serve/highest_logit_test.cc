// Replies at temperature 0 take the highest logit that the device has found.

#include <gtest/gtest.h>

#include "ops/fake_device.h"
#include "scheduler_fixture.h"
#include "serve/scheduler/sequence_engine.h"

namespace longhaul::serve {
namespace {

using longhaul::testing_support::FakeDevice;

struct TokenIds : testing_support::LastReport {
  void piece(int, const ReplyPiece& piece, const JobReport&) override {
    for (const TokenReport& token : piece.tokens) ids.push_back(token.id);
  }
  std::vector<int32_t> ids;
};

class HighestLogit : public ::testing::Test {
 protected:
  HighestLogit() {
    options_.queue = Queue(std::make_shared<FakeDevice>());
    options_.chunk = 64;
  }

  /// The tokens of three replies that are decoded together.
  std::vector<std::vector<int32_t>> replies(const std::function<void(ReplyOptions&)>& change) {
    SequenceEngine port(engine_, options_);
    EXPECT_TRUE(port.chooses_highest());
    Scheduler scheduler(port, engine_->tokenizer(), {.memory_limit = size_t{64} << 30}, metrics_);
    std::vector<std::shared_ptr<TokenIds>> sinks;
    for (unsigned i = 0; i < 3; ++i) {
      const auto job = std::make_shared<Job>();
      std::mt19937 random(i);
      for (int t = 0; t < 40; ++t) job->prompt.push_back(static_cast<int32_t>(random() % 250));
      job->reply.max_tokens = 12;
      job->reply.ignore_eos = true;
      change(job->reply);
      job->sink = sinks.emplace_back(std::make_shared<TokenIds>());
      EXPECT_FALSE(scheduler.submit(job));
    }
    while (!scheduler.idle()) scheduler.turn();
    std::vector<std::vector<int32_t>> all;
    for (const auto& sink : sinks) {
      EXPECT_EQ(sink->error.status, 0) << sink->error.message;
      all.push_back(sink->ids);
    }
    return all;
  }

  std::shared_ptr<const Engine> engine_ =
      Engine::open(std::string(LONGHAUL_TEST_DATA) + "/tiny_models/llama_linear");
  SessionOptions options_;
  Metrics metrics_;
};

TEST_F(HighestLogit, TokensAreThoseOfAllLogits) {
  const auto highest = replies([](ReplyOptions&) {});
  EXPECT_EQ(highest[0].size(), 12U);
  // A report of logprobs needs all logits.
  EXPECT_EQ(highest, replies([](ReplyOptions& reply) { reply.logprobs = 0; }));

  const auto biased = [&](ReplyOptions& reply) {
    for (const int32_t id : highest[0]) reply.logit_bias[id] = -100;
  };
  const auto others = replies(biased);
  EXPECT_NE(others, highest);
  EXPECT_EQ(others, replies([&](ReplyOptions& reply) {
              biased(reply);
              reply.logprobs = 0;
            }));
}

TEST(ReplyMaker, TakesTheHighestLogitOnlyWhereNothingElseDecides) {
  const Tokenizer& tokenizer = testing_support::nano_tokenizer();
  const auto takes = [&](const std::function<void(ReplyOptions&)>& change) {
    ReplyOptions options;
    change(options);
    return ReplyMaker(tokenizer, options).takes_highest();
  };
  EXPECT_TRUE(takes([](ReplyOptions&) {}));
  EXPECT_TRUE(takes([](ReplyOptions& o) { o.logit_bias[5] = 2; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.sampler.temperature = 0.5f; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.sampler.repeat_penalty = 1.1f; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.presence_penalty = 1; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.frequency_penalty = 1; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.logprobs = 0; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.reasoning.tokens = 10; }));
}

}  // namespace
}  // namespace longhaul::serve
