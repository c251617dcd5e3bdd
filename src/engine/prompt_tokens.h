#pragma once
// Converts messages or a bare text to the tokens that the model reads. `longhaul run`, the chat and
// `longhaul eval` all use these functions, so measurements apply to what users get.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

/// A prompt before tokenization.
struct PromptText {
  std::vector<TextSegment> segments;
  bool add_special = false;  ///< BOS if the tokenizer requires it; a chat template writes its own

  std::string text() const;  ///< the segments joined
};

/// The conversation in its template up to the assistant's mark, followed by the reply's first
/// words, if any. Throws UserError if the template does not support the messages.
PromptText chat_prompt(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                       std::string opening = {});

/// A text that the model continues. `control_tokens`: names such as `<|im_end|>` in it are
/// recognised.
PromptText bare_prompt(std::string text, bool control_tokens);

struct PromptTokens {
  std::vector<int32_t> tokens;
  int64_t instruction = 0;  ///< length of the question and everything after it
};

/// The instruction begins at the last occurrence of `question`; an empty question gives length 0.
/// `replaced`, if given, receives the number of broken UTF-8 sequences that became U+FFFD. Throws
/// UserError if there are no tokens.
PromptTokens prompt_tokens(const Tokenizer& tokenizer, const PromptText& prompt,
                           std::string_view question, size_t* replaced = nullptr);

/// The tokens that a further question adds to a conversation, up to the beginning of its reply.
/// `closed`: the conversation already ends with the token that ends the model's last reply.
/// `system`: the conversation's system message.
std::vector<int32_t> further_turn_tokens(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const std::string& question,
                                         const std::optional<std::string>& system, bool closed,
                                         size_t* replaced = nullptr);

/// The common first tokens of all prompts that `asking` makes from questions. A session that has
/// read only these can continue with any question, even if its method cannot rewind.
std::vector<int32_t> tokens_before_question(
    const Tokenizer& tokenizer,
    const std::function<PromptText(const std::string& question)>& asking,
    size_t* replaced = nullptr);

}  // namespace longhaul
