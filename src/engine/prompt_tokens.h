#pragma once
// Converts messages or a bare text to the tokens that the model processes. `longhaul run`, the chat
// and `longhaul eval` use the same functions, so that measured models receive the same tokens as in
// normal use.

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
  /// Whether BOS is added if the tokenizer requires it. False for chat templates, which contain BOS
  /// themselves.
  bool add_special = false;

  std::string text() const;  ///< returns all segments as one text
};

/// Returns the messages in the chat template, up to and including the tokens that begin the
/// assistant's reply. `opening` is appended as the first words of the reply. Throws UserError if
/// the template does not support the messages.
PromptText chat_prompt(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                       std::string opening = {});

/// Returns a prompt without a template, which the model continues. If `control_tokens` is true,
/// names such as `<|im_end|>` in the text become control tokens.
PromptText bare_prompt(std::string text, bool control_tokens);

struct PromptTokens {
  std::vector<int32_t> tokens;
  int64_t instruction = 0;  ///< number of tokens from the first one of the question to the end
};

/// Tokenizes a prompt. PromptTokens::instruction counts from the last occurrence of `question`, and
/// is 0 if `question` is empty. `replaced` (may be null) receives the number of invalid UTF-8
/// sequences that were replaced by U+FFFD. Throws UserError if the result has no tokens.
PromptTokens prompt_tokens(const Tokenizer& tokenizer, const PromptText& prompt,
                           std::string_view question, size_t* replaced = nullptr);

/// Returns the tokens that a further question adds to a conversation, up to the beginning of the
/// reply. `closed` is true if the conversation already contains the token that ends the last reply.
/// `system` is the system message of the conversation.
std::vector<int32_t> further_turn_tokens(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const std::string& question,
                                         const std::optional<std::string>& system, bool closed,
                                         size_t* replaced = nullptr);

/// Returns the longest prefix of tokens that the prompts for all questions share. asking(question)
/// must return the prompt for a question. A sequence that has processed exactly these tokens can
/// continue with any question, even if its attention method cannot undo tokens.
std::vector<int32_t> tokens_before_question(
    const Tokenizer& tokenizer,
    const std::function<PromptText(const std::string& question)>& asking,
    size_t* replaced = nullptr);

}  // namespace longhaul
