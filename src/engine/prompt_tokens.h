#pragma once
// Converts messages or a bare text to the tokens that the model processes. `longhaul run`, the chat
// and `longhaul eval` use the same functions, so that measurements apply to what users get.

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
  /// Whether BOS is added if the tokenizer requires it; chat templates write BOS themselves.
  bool add_special = false;

  std::string text() const;  ///< returns all segments as one text
};

/// Returns the conversation in the chat template, up to the mark that begins the assistant's reply.
/// `opening` is then appended as the first words of the reply. Throws UserError if the template
/// does not support the messages.
PromptText chat_prompt(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                       std::string opening = {});

/// Returns a text that the model continues. If `control_tokens` is true, names such as `<|im_end|>`
/// in the text are recognised as control tokens.
PromptText bare_prompt(std::string text, bool control_tokens);

struct PromptTokens {
  std::vector<int32_t> tokens;
  int64_t instruction = 0;  ///< number of tokens from the beginning of the question to the end
};

/// Tokenizes a prompt. The instruction begins at the last occurrence of `question`; its length is 0
/// if `question` is empty. `replaced`, if given, receives the number of invalid UTF-8 sequences
/// that were replaced by U+FFFD. Throws UserError if the result has no tokens.
PromptTokens prompt_tokens(const Tokenizer& tokenizer, const PromptText& prompt,
                           std::string_view question, size_t* replaced = nullptr);

/// Returns the tokens that a further question adds to a conversation, up to the beginning of the
/// reply. `closed` says that the conversation already ends with the token that ends the last reply.
/// `system` is the system message of the conversation.
std::vector<int32_t> further_turn_tokens(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const std::string& question,
                                         const std::optional<std::string>& system, bool closed,
                                         size_t* replaced = nullptr);

/// Returns the first tokens that are the same for all questions. `asking` returns the prompt for a
/// question. A session that has processed only these tokens can continue with any question, even if
/// its method cannot undo tokens.
std::vector<int32_t> tokens_before_question(
    const Tokenizer& tokenizer,
    const std::function<PromptText(const std::string& question)>& asking,
    size_t* replaced = nullptr);

}  // namespace longhaul
