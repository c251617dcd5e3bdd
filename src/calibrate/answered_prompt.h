#pragma once
// Makes long prompts with known replies, for training gates.

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
  /// First row that contributes to the loss. In ten_passkeys() it is the first token of the
  /// questions and answers. In answered_task() it is the row that predicts the first token of the
  /// answer.
  int64_t first_row = 0;
};

struct PromptRequest {
  const Tokenizer* tokenizer = nullptr;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as in the publication
  const EvalData* data = nullptr;
  uint64_t seed = 1;
  int64_t length = 0;  ///< largest number of tokens; the prompt is as long as the text allows
  int64_t index = 0;   ///< number of the prompt; different numbers give different prompts
};

/// Returns a prompt with ten random sequences of `words` words that are hidden in a book. A
/// question and answer for each sequence follow at the end. The sentences and depths are those of
/// DuoAttention (section 2.2 and its code); depths are chosen among 1,000 points from 0.05 to 0.95.
/// With a chat template, each question is a message and each answer is a reply. Throws UserError if
/// `length` is too short for the sequences.
AnsweredPrompt ten_passkeys(const PromptRequest& request, int words);

/// Returns the number of tokens of the shortest such prompt, with a margin because the words differ
/// between prompts.
int64_t least_passkey_tokens(const PromptRequest& request, int words);

/// Returns the prompt and the reply of a task of `longhaul eval`. Only the rows that predict the
/// answers contribute to the loss, not those that predict the opening words of the reply
/// (Sample::opening).
AnsweredPrompt answered_task(const PromptRequest& request, const TaskInfo& task);

}  // namespace longhaul
