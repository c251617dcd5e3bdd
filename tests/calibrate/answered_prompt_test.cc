// Prompts for the training of gates: hidden facts are asked for and answered, within the length.

#include "calibrate/answered_prompt.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "eval/nano.h"

namespace longhaul {
namespace {

using testing_support::nano;
using testing_support::test_data;

PromptRequest request_of(int64_t length, int64_t index, bool chat) {
  PromptRequest request;
  request.tokenizer = &nano()->tokenizer();
  if (chat) request.chat = nano()->chat_template();
  request.data = &test_data();
  request.length = length;
  request.index = index;
  return request;
}

std::string text_of(std::span<const int32_t> tokens) {
  std::string text;
  for (const int32_t token : tokens) text += nano()->tokenizer().piece(token);
  return text;
}

TEST(TenPasskeys, AreEachHiddenAskedForAndAnswered) {
  for (const bool chat : {false, true}) {
    const AnsweredPrompt prompt = ten_passkeys(request_of(2500, 3, chat), 4);
    EXPECT_LE(prompt.tokens.size(), 2500u);
    EXPECT_GE(prompt.tokens.size(), 2400u);
    const auto tokens = std::span(prompt.tokens);
    const std::string book = text_of(tokens.first(static_cast<size_t>(prompt.first_row)));
    const std::string answers = text_of(tokens.subspan(static_cast<size_t>(prompt.first_row)));
    EXPECT_TRUE(answers.starts_with("Based on the content of the book, what is the first passkey"));
    size_t at = 0;
    for (const char* ordinal : {"first", "second", "third", "fourth", "fifth", "sixth", "seventh",
                                "eighth", "ninth", "tenth"}) {
      const std::string line = std::string("it's the ") + ordinal + " passkey to the vault: ";
      const size_t hidden = book.find(line, at);
      ASSERT_NE(hidden, std::string::npos) << ordinal;
      const std::string key =
          book.substr(hidden + line.size(), book.find('\n', hidden) - hidden - line.size());
      EXPECT_EQ(std::ranges::count(key, ' '), 3) << key;
      EXPECT_NE(answers.find("Passkey: " + key), std::string::npos) << ordinal;
      at = hidden;
    }
    EXPECT_EQ(text_of(ten_passkeys(request_of(2500, 3, chat), 4).tokens), text_of(tokens));
    EXPECT_NE(text_of(ten_passkeys(request_of(2500, 4, chat), 4).tokens), text_of(tokens));
  }
}

TEST(TenPasskeys, ThatDoNotFitAreRefused) {
  EXPECT_THROW(ten_passkeys(request_of(600, 0, true), 32), UserError);
}

TEST(AnsweredTask, EndsWithTheAnswersAndOnlyTheyCount) {
  const PromptRequest request = request_of(900, 13, true);
  const AnsweredPrompt prompt = answered_task(request, eval_task("variables"));
  EXPECT_LE(prompt.tokens.size(), 900u);
  const auto tokens = std::span(prompt.tokens);
  const auto predicted = static_cast<size_t>(prompt.first_row) + 1;  // by the first row
  const std::string asked = text_of(tokens.first(predicted));
  EXPECT_TRUE(asked.ends_with("they are:")) << asked.substr(asked.size() - 40);
  const std::string answers = text_of(tokens.subspan(predicted));
  EXPECT_EQ(std::ranges::count(answers, ','), 4) << answers;
  EXPECT_NE(asked.find("VAR " + answers.substr(1, 5) + " = "), std::string::npos) << answers;
}

}  // namespace
}  // namespace longhaul
