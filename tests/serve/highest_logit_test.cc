// Replies at temperature 0 take the highest logit that the device has found.

#include <gtest/gtest.h>

#include <deque>

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
  std::vector<std::vector<int32_t>> replies(const std::function<void(ReplyOptions&)>& change,
                                            bool may_fail = false) {
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
      if (sink->error.status != 0) errors_.push_back(sink->error.message);
      EXPECT_TRUE(may_fail || sink->error.status == 0) << sink->error.message;
      all.push_back(sink->ids);
    }
    return all;
  }

  std::shared_ptr<const Engine> engine_ =
      Engine::open(std::string(LONGHAUL_TEST_DATA) + "/tiny_models/llama_linear");
  SessionOptions options_;
  Metrics metrics_;
  std::vector<std::string> errors_;
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

/// A reply of these letters, for a vocabulary in which token i is the byte i.
grammar::Constraint letters(const std::string& pattern) {
  static const auto vocabulary = [] {
    std::vector<std::string> texts;
    for (int i = 0; i < 264; ++i)
      texts.push_back(i < 256 ? std::string(1, static_cast<char>(i)) : "");
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    return std::make_shared<const grammar::TokenTrie>(views, std::vector<int32_t>{});
  }();
  return {grammar::Grammar::compile(pattern, grammar::GrammarKind::kRegex), vocabulary};
}

TEST_F(HighestLogit, MasksReachTheDevice) {
  const auto free = replies([](ReplyOptions&) {});
  const auto only_letters = [](ReplyOptions& reply) { reply.constraint = letters("[a-z]{12}"); };
  const auto held = replies(only_letters);
  EXPECT_NE(held, free);
  for (const auto& reply : held) {
    ASSERT_EQ(reply.size(), 12U);
    for (const int32_t id : reply) EXPECT_TRUE(id >= 'a' && id <= 'z') << id;
  }
  EXPECT_EQ(held, replies([&](ReplyOptions& reply) {
              only_letters(reply);
              reply.logprobs = 0;
            }));
  // One of three replies has a form. The others are those without it.
  int count = 0;
  const auto mixed = replies([&](ReplyOptions& reply) {
    if (count++ == 1) only_letters(reply);
  });
  EXPECT_EQ(mixed, (std::vector{free[0], held[1], free[2]}));
}

TEST_F(HighestLogit, AFormWithoutATokenFailsAlone) {
  // No token of 256 single bytes follows "ab" in a vocabulary that lacks "c".
  std::vector<std::string> texts(264);
  texts['a'] = "a";
  texts['b'] = "b";
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const auto vocabulary = std::make_shared<const grammar::TokenTrie>(views, std::vector<int32_t>{});
  const auto without = replies([](ReplyOptions&) {});
  int count = 0;
  errors_.clear();
  const auto mixed = replies(
      [&](ReplyOptions& reply) {
        if (count++ != 1) return;
        reply.constraint.emplace(grammar::Grammar::compile("abc", grammar::GrammarKind::kRegex),
                                 vocabulary);
      },
      true);
  EXPECT_EQ(mixed[0], without[0]);
  EXPECT_EQ(mixed[2], without[2]);
  ASSERT_EQ(errors_.size(), 1U);
  EXPECT_NE(errors_[0].find("vocabulary has no token"), std::string::npos) << errors_[0];
}

TEST(MaskThreads, WriteEveryMaskOfEveryRound) {
  ReplyOptions options;
  options.constraint = letters("[a-z]{200}");
  const Tokenizer& tokenizer = testing_support::nano_tokenizer();
  std::deque<ReplyMaker> makers;
  for (int i = 0; i < 9; ++i) makers.emplace_back(tokenizer, options);
  MaskThreads threads;
  threads.start({});
  threads.wait();
  for (int round = 0; round < 200; ++round) {
    std::vector<ReplyMaker*> some;
    std::vector<std::span<const uint64_t>> masks;
    for (int i = 0; i < 1 + round % 9; ++i) {
      some.push_back(&makers[static_cast<size_t>(i)]);
      masks.push_back(some.back()->mask());
      ASSERT_EQ(masks.back().size(), 5U);
    }
    threads.start(some);
    threads.wait();
    for (size_t i = 0; i < some.size(); ++i) {
      const int32_t token = 'a' + static_cast<int32_t>(i) + round % 9;
      EXPECT_EQ(masks[i][1] >> ('a' - 64) & 0x3FFFFFF, 0x3FFFFFFU);
      EXPECT_EQ(masks[i][0], 0U);
      some[i]->take(BestLogit{token, 1});
    }
  }
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
  EXPECT_TRUE(takes([](ReplyOptions& o) { o.constraint = letters("a*"); }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.sampler.temperature = 0.5f; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.sampler.repeat_penalty = 1.1f; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.presence_penalty = 1; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.frequency_penalty = 1; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.logprobs = 0; }));
  EXPECT_FALSE(takes([](ReplyOptions& o) { o.reasoning.tokens = 10; }));
}

}  // namespace
}  // namespace longhaul::serve
