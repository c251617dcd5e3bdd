#pragma once
// From messages or a bare text to the tokens that the model reads: `longhaul run`, the chat and
// `longhaul eval` all go this way, so that what is measured is what users get.

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

/// A prompt before it is tokens.
struct PromptText {
  std::vector<TextSegment> segments;
  bool add_special = false;  ///< BOS as the tokenizer asks for; a chat template writes its own

  std::string text() const;  ///< the segments as one
};

/// The conversation in its template up to the assistant's mark, and behind that the reply's first
/// words, if any. UserError when the template cannot hold the messages.
PromptText chat_prompt(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                       std::string opening = {});

/// A text that the model goes on with. `control_tokens`: names such as `<|im_end|>` in it count.
PromptText bare_prompt(std::string text, bool control_tokens);

struct PromptTokens {
  std::vector<int32_t> tokens;
  int64_t instruction = 0;  ///< how many at the end are the question and what follows it
};

/// The instruction begins where `question` stands last; an empty one gives 0. `replaced`, if given,
/// receives how many broken UTF-8 sequences became U+FFFD. UserError when there are no tokens.
PromptTokens prompt_tokens(const Tokenizer& tokenizer, const PromptText& prompt,
                           std::string_view question, size_t* replaced = nullptr);

/// What a further question adds to a conversation's tokens, up to the beginning of its reply.
/// `closed`: the token with which the model ended its last reply is there already. `system`: of the
/// conversation.
std::vector<int32_t> further_turn_tokens(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const std::string& question,
                                         const std::optional<std::string>& system, bool closed,
                                         size_t* replaced = nullptr);

/// The tokens with which all prompts that `asking` makes from a question begin, whatever the
/// question. A session that has read only these can go on with any question, even if its method
/// cannot go back.
std::vector<int32_t> tokens_before_question(
    const Tokenizer& tokenizer,
    const std::function<PromptText(const std::string& question)>& asking,
    size_t* replaced = nullptr);

}  // namespace longhaul
