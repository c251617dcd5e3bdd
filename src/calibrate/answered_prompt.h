#pragma once
// Long prompts whose replies are known: what gates are trained on.

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
  int64_t answer = 0;  ///< from this token on it is questions and answers, or an answer
};

struct PromptRequest {
  const Tokenizer* tokenizer = nullptr;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as published
  const EvalData* data = nullptr;
  uint64_t seed = 1;
  int64_t length = 0;  ///< tokens, as near as the text allows, and no more
  int64_t index = 0;   ///< another prompt for every number
};

/// Ten random sequences of `words` words hidden in a book, each asked for and answered at the end
/// (DuoAttention, section 2.2 and its code: its sentences, depths in 1,000 points from 0.05 to
/// 0.95). With a chat template each question is a message and each answer a reply. UserError when
/// `length` is too short for the sequences.
AnsweredPrompt ten_passkeys(const PromptRequest& request, int words);

/// Tokens of the shortest such prompt, and some for another draw of words.
int64_t least_passkey_tokens(const PromptRequest& request, int words);

/// A task of `longhaul eval` with its reply, of which the answers count and not the opening.
AnsweredPrompt answered_task(const PromptRequest& request, const TaskInfo& task);

}  // namespace longhaul
