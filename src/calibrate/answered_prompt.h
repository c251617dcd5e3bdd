#pragma once
// Makes long prompts that contain their replies, on which the gates of DuoAttention are trained
// (calibrate/duo_gates.h).

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
  /// Index of the first token whose hidden state contributes to the loss. In ten_passkeys() it is
  /// the first token of the questions and answers. In answered_task() it is the token before the
  /// first token of the answer, because its hidden state predicts this token.
  int64_t first_row = 0;
};

struct PromptRequest {
  const Tokenizer* tokenizer = nullptr;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as in DuoAttention's paper
  const EvalData* data = nullptr;
  uint64_t seed = 1;
  int64_t length = 0;  ///< largest number of tokens; the prompt is nearly as long
  int64_t index = 0;   ///< number of the prompt; each number yields another prompt
};

/// Returns a prompt with ten random sequences of `words` words that are hidden in a book. At the
/// end there is a question and an answer for each sequence. The sentences are those of DuoAttention
/// (section 2.2 and its code). The depth of a sequence, its position as a fraction of the book, is
/// chosen among 1,000 points from 0.05 to 0.95. With a chat template, each question is a message
/// and each answer is a reply. Throws UserError if `length` is too short for the sequences.
AnsweredPrompt ten_passkeys(const PromptRequest& request, int words);

/// Returns the least length with which ten_passkeys() can be called. It includes a margin, because
/// prompts with different words have different numbers of tokens.
int64_t least_passkey_tokens(const PromptRequest& request, int words);

/// Returns the prompt of a sample of an evaluation task, followed by its reply. Only the tokens
/// that predict the answer contribute to the loss. The tokens that predict the opening words of the
/// reply (Sample::opening) do not contribute.
AnsweredPrompt answered_task(const PromptRequest& request, const TaskInfo& task);

}  // namespace longhaul
