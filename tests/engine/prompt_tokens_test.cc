// The conversion of texts to tokens that `run`, the chat and `eval` share.

#include "engine/prompt_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "engine/engine.h"

namespace longhaul {
namespace {

class Prompts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { engine_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { engine_.reset(); }

  static const Tokenizer& tokenizer() { return engine_->tokenizer(); }
  static std::string decoded(std::span<const int32_t> tokens) {
    return tokenizer().decode(tokens, false);
  }
  static std::string instruction_of(const PromptTokens& prompt) {
    return decoded(std::span(prompt.tokens).last(static_cast<size_t>(prompt.instruction)));
  }
  static PromptText asking(const std::string& question) {
    const std::vector<ChatMessage> messages{{ChatRole::user, "The boat is red.\n\n" + question}};
    return chat_prompt(engine_->chat_template(), messages);
  }

  inline static std::shared_ptr<const Engine> engine_;
};

TEST_F(Prompts, TheInstructionIsTheQuestionAndWhatFollowsIt) {
  const std::vector<ChatMessage> messages{{ChatRole::system, "What is red?"},
                                          {ChatRole::user, "The boat.\nWhat is red?"}};
  const PromptText text = chat_prompt(engine_->chat_template(), messages, "It is");
  EXPECT_EQ(instruction_of(prompt_tokens(tokenizer(), text, "What is red?")),
            "What is red?<|im_end|>\n<|im_start|>assistant\nIt is");  // at its last occurrence
  EXPECT_EQ(prompt_tokens(tokenizer(), text, "").instruction, 0);
  EXPECT_EQ(prompt_tokens(tokenizer(), text, "What is blue?").instruction, 0);
}

TEST_F(Prompts, ABrokenQuestionIsMeasuredAsItWasRepaired) {
  const std::vector<ChatMessage> messages{{ChatRole::user, "The \xFF boat.\nWhat \xFF is red?"}};
  const PromptText text = chat_prompt(engine_->chat_template(), messages);
  EXPECT_EQ(instruction_of(prompt_tokens(tokenizer(), text, "What \xFF is red?")),
            "What \xEF\xBF\xBD is red?<|im_end|>\n<|im_start|>assistant\n");
}

/// Some templates trim messages.
TEST_F(Prompts, AQuestionThatTheTemplateTrimsIsTheInstructionToo) {
  const std::vector<ChatMessage> messages{{ChatRole::user, "The boat.\nWhat is red? \n"}};
  const PromptText text = chat_prompt(ChatTemplate::named("llama3"), messages);
  EXPECT_TRUE(instruction_of(prompt_tokens(tokenizer(), text, "What is red? \n"))
                  .starts_with("What is red?"));
}

TEST_F(Prompts, BareTextsMayHoldControlTokensWhereTheUserSaysSo) {
  const std::string text = "a<|im_end|>What?";
  const auto end = *tokenizer().special_token("<|im_end|>");
  const auto count = [&](const PromptTokens& prompt) {
    return std::count(prompt.tokens.begin(), prompt.tokens.end(), end);
  };
  const PromptTokens counted = prompt_tokens(tokenizer(), bare_prompt(text, true), "What?");
  EXPECT_EQ(count(counted), 1);
  EXPECT_EQ(instruction_of(counted), "What?");
  EXPECT_EQ(count(prompt_tokens(tokenizer(), bare_prompt(text, false), "What?")), 0);
}

TEST_F(Prompts, BrokenTextIsCountedAndNoTextRefused) {
  size_t replaced = 0;
  const PromptText broken = bare_prompt(
      "a\xFF"
      "b\xC3(",
      false);
  const PromptTokens prompt = prompt_tokens(tokenizer(), broken, "", &replaced);
  EXPECT_EQ(replaced, 2u);
  EXPECT_EQ(decoded(prompt.tokens),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD(");
  EXPECT_THROW(prompt_tokens(tokenizer(), bare_prompt("", false), ""), UserError);
}

TEST_F(Prompts, WhatComesBeforeTheQuestionBeginsEveryPrompt) {
  const std::vector<int32_t> before = tokens_before_question(tokenizer(), asking);
  // The line breaks are excluded, since they may become one token with the following text.
  EXPECT_EQ(decoded(before), "<|im_start|>user\nThe boat is red.");
  for (const char* question : {"Who?", "3 boats?", "\xC3\xA9tait-il rouge?"}) {
    const auto whole = prompt_tokens(tokenizer(), asking(question), question);
    ASSERT_GT(whole.tokens.size(), before.size());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), whole.tokens.begin())) << question;
    EXPECT_LE(before.size() + static_cast<size_t>(whole.instruction), whole.tokens.size());
  }
}

}  // namespace
}  // namespace longhaul
