// The tokens that contain an answer, and which of them the reply's rows can see.

#include "eval/answer_recall.h"

#include <gtest/gtest.h>

#include "eval/nano.h"

namespace longhaul {
namespace {

using testing_support::nano;
using testing_support::nano_composer;

Sample sample() {
  Sample s;
  for (int i = 0; i < 20; ++i) s.context += "The rain had not stopped since the morning. ";
  s.context += "The key is 4827163. ";
  for (int i = 0; i < 40; ++i) s.context += "The road to the harbour lay under water. ";
  s.question = "What is the key?";
  s.answers = {"4827163"};
  return s;
}

/// Recall after the prompt and two generated tokens.
std::vector<double> recall_of(const std::string& method) {
  const ComposedPrompt prompt = nano_composer().compose(sample(), false);
  const auto count = static_cast<int64_t>(prompt.tokens.size());
  AnswerRecall recall(answer_tokens(nano()->tokenizer(), prompt, sample().answers), 12, count);
  SessionOptions options;
  options.attention = MethodSpec::parse(method);
  options.chunk = 100;
  Session session(nano(), options);
  session.observe([&](const LayerStep& step, std::span<const AttendTask> tasks) {
    recall.observe(step, tasks);
  });
  EXPECT_TRUE(session.prefill(prompt.tokens, {.instruction = prompt.instruction}));
  session.decode(100);
  session.decode(101);
  return recall.by_layer();
}

TEST(AnswerTokens, HoldTheAnswerAndNothingElse) {
  const ComposedPrompt prompt = nano_composer().compose(sample(), true);
  const auto tokens = answer_tokens(nano()->tokenizer(), prompt, sample().answers);
  ASSERT_FALSE(tokens.empty());
  std::vector<int32_t> ids;
  for (const int64_t token : tokens) {
    EXPECT_EQ(token, tokens.front() + static_cast<int64_t>(ids.size()));
    ids.push_back(prompt.tokens[static_cast<size_t>(token)]);
  }
  const std::string text = nano()->tokenizer().decode(ids);
  EXPECT_NE(text.find("4827163"), std::string::npos) << text;
  EXPECT_LE(text.size(), 7u + 2u);
}

TEST(AnswerTokens, EmptyWhereTheyDoNotMeanThePlace) {
  const ComposedPrompt prompt = nano_composer().compose(sample(), false);
  const auto tokens = [&](std::vector<std::string> answers) {
    return answer_tokens(nano()->tokenizer(), prompt, answers).size();
  };
  EXPECT_EQ(tokens({"no such word"}), 0u);
  EXPECT_EQ(tokens({"harbour", "4827163"}), tokens({"harbour"}) + tokens({"4827163"}));
  EXPECT_EQ(tokens({"re"}), 0u) << "two bytes are everywhere";
  EXPECT_EQ(tokens({"The road to the harbour lay under water."}), 0u) << "more than 256 tokens";
  EXPECT_EQ(tokens({"key?"}), 0u) << "the question is no context";
}

TEST(AnswerRecall, IsWhatTheMethodShows) {
  const std::vector<double> all(12, 1.0), none(12, 0.0);
  EXPECT_EQ(recall_of("dense"), all);
  EXPECT_EQ(recall_of("streamingllm:recent=100"), none);
  EXPECT_EQ(recall_of("streamingllm:recent=4000"), all);
  EXPECT_EQ(recall_of("duo:sparsity=1,recent=64"), none);
  // One head of a layer is enough. nano's nine heads are in some of the layers.
  const std::vector<double> duo = recall_of("duo:recent=64");
  EXPECT_EQ(std::count(duo.begin(), duo.end(), 1.0) + std::count(duo.begin(), duo.end(), 0.0), 12);
  EXPECT_EQ(*std::max_element(duo.begin(), duo.end()), 1);
  EXPECT_EQ(*std::min_element(duo.begin(), duo.end()), 0);
}

TEST(AnswerRecall, FollowsKeptRowsAndLookedUpBlocks) {
  // After the prompt, a row with a budget of 64 sees the kept rows. The prompt's last row saw all.
  for (const double share : recall_of("snapkv:capacity=64,window=8")) {
    EXPECT_GE(share, 1.0 / 3 - 1e-9);
    EXPECT_LE(share, 1.0);
  }
  const std::vector<double> found = recall_of("ltri:n_init=16,n_local=64,block=32,topk=4");
  EXPECT_GT(*std::max_element(found.begin(), found.end()), 0.5);
  const std::vector<double> reattention =
      recall_of("reattention:fidelity=paper,global=8,local=64,chunk=32");
  EXPECT_GT(*std::max_element(reattention.begin(), reattention.end()), 0.5);
}

TEST(AnswerRecall, NothingWithoutAnAnswerOrARow) {
  AnswerRecall unasked({}, 12, 10), unread({3}, 12, 10);
  EXPECT_TRUE(unasked.by_layer().empty());
  EXPECT_TRUE(unread.by_layer().empty());
}

}  // namespace
}  // namespace longhaul
