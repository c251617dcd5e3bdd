#pragma once
// Long prompts with known replies, for training gates.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/data.h"
#include "eval/task.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

struct AnsweredPrompt {
  std::vector<int32_t> tokens;
  /// First row of the loss: the first token of the questions and answers, or the row that predicts
  /// the first token of the answer.
  int64_t first_row = 0;
};

struct PromptRequest {
  const Tokenizer* tokenizer = nullptr;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as published
  const EvalData* data = nullptr;
  uint64_t seed = 1;
  int64_t length = 0;  ///< tokens: the prompt comes as near as the text allows without exceeding it
  int64_t index = 0;   ///< selects a different prompt for every number
};

/// Ten random sequences of `words` words hidden in a book, with a question and answer for each at
/// the end (DuoAttention, section 2.2 and its code: its sentences, depths at 1,000 points from 0.05
/// to 0.95). With a chat template each question is a message and each answer a reply. UserError if
/// `length` is too short for the sequences.
AnsweredPrompt ten_passkeys(const PromptRequest& request, int words);

/// Tokens of the shortest such prompt, with a margin for other draws of words.
int64_t least_passkey_tokens(const PromptRequest& request, int words);

/// A task of `longhaul eval` with its reply. The rows that predict the answers count, not the
/// opening.
AnsweredPrompt answered_task(const PromptRequest& request, const TaskInfo& task);

}  // namespace longhaul
