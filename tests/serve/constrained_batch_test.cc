// Constrained and free replies in one batch: the free ones are those without the others, bit by
// bit.

#include <gtest/gtest.h>

#include "scheduler_fixture.h"
#include "serve/scheduler/sequence_engine.h"

namespace longhaul::serve {
namespace {

struct MixedChances : testing_support::LastReport {
  void piece(int, const ReplyPiece& piece, const JobReport&) override {
    text += piece.text;
    for (const TokenReport& token : piece.tokens) {
      ids.push_back(token.id);
      for (const TokenChance& chance : token.best) logprobs.push_back(chance.logprob);
    }
  }
  std::string text;
  std::vector<int32_t> ids;
  std::vector<float> logprobs;  ///< logprobs of the 20 most likely tokens of each place
};

const std::shared_ptr<const Engine>& nano_engine() {
  static const auto engine = Engine::open(std::string(LONGHAUL_MODELS) + "/nano");
  return engine;
}

/// Six replies. Every second one is JSON if `mixed`; with only = N, reply N is alone.
std::vector<std::shared_ptr<MixedChances>> six_replies(bool mixed, int only = -1) {
  static const auto vocabulary = grammar::TokenTrie::of(nano_engine()->tokenizer());
  SessionOptions options;
  options.chunk = 512;
  SequenceEngine port(nano_engine(), options);
  Metrics metrics;
  Scheduler scheduler(port, nano_engine()->tokenizer(), {.memory_limit = size_t{64} << 30},
                      metrics);
  std::vector<std::shared_ptr<MixedChances>> sinks;
  for (int i = 0; i < 6; ++i) {
    const auto job = std::make_shared<Job>();
    job->prompt = testing_support::text_of(50 + 7 * i, static_cast<unsigned>(i));
    job->reply.max_tokens = 16;
    job->reply.logprobs = 20;
    job->reply.sampler.temperature = i % 3 == 0 ? 0.0f : 0.8f;
    job->reply.sampler.seed = static_cast<uint64_t>(i + 1);
    if (mixed && i % 2 == 1) {
      job->reply.constraint.emplace(
          grammar::Grammar::compile(R"({"type": "array", "items": {"type": "integer"},
                                        "minItems": 2, "maxItems": 3})",
                                    grammar::GrammarKind::kJsonSchema),
          vocabulary);
    }
    job->sink = sinks.emplace_back(std::make_shared<MixedChances>());
    if (only >= 0 && only != i) continue;
    EXPECT_FALSE(scheduler.submit(job));
  }
  while (!scheduler.idle()) scheduler.turn();
  return sinks;
}

TEST(ConstrainedBatch, LeavesFreeRepliesAsTheyAre) {
  const auto mixed = six_replies(true), free = six_replies(false);
  for (size_t i = 0; i < 6; i += 2) {
    EXPECT_EQ(mixed[i]->error.status, 0);
    ASSERT_GT(mixed[i]->ids.size(), 4U);
    const auto alone = six_replies(false, static_cast<int>(i))[i];
    for (const auto& other : {free[i], alone}) {
      EXPECT_EQ(mixed[i]->ids, other->ids) << i;
      EXPECT_EQ(mixed[i]->logprobs, other->logprobs) << i;
    }
  }
  for (size_t i = 1; i < 6; i += 2) {
    EXPECT_EQ(mixed[i]->text.front(), '[') << i;
    EXPECT_NE(mixed[i]->text, free[i]->text);
  }
}

}  // namespace
}  // namespace longhaul::serve
