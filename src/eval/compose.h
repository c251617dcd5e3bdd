#pragma once
// Converts a sample to the tokens of a prompt.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/prompt_tokens.h"
#include "eval/sample.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

struct ComposedPrompt : PromptTokens {
  int64_t generated = 0;  ///< tokens at the end that are read one by one like generated ones
  int64_t context_begin = 0, context_end = 0;  ///< tokens that contain only context
  std::vector<int64_t> answer;    ///< context tokens that contain the answer, if it was searched
  std::vector<int64_t> evidence;  ///< context tokens that block look-ups must find
};

class PromptComposer {
 public:
  /// Without a template every prompt is bare text, and control token names in it are recognised, as
  /// with `run --raw`.
  PromptComposer(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat)
      : tokenizer_(tokenizer), chat_(std::move(chat)) {}

  /// Builds system message, context, separator and question in the chat template. With `opening` it
  /// adds the reply's first words after the assistant mark; in bare text after `before_opening`,
  /// unless the question ends with them. With a template, text of a sample never becomes a control
  /// token. UserError if the prompt is empty.
  ComposedPrompt compose(const Sample& sample, bool opening) const;

  /// Whether the sample's opening changes the result of compose().
  bool opens(const Sample& sample) const;

  /// Tokens of the sample's longest prompt: with its opening, if it has one.
  int64_t most_tokens(const Sample& sample) const;

  /// Computes compose(sample, true) from compose(sample, false). Text before the template's last
  /// control token, across which no tokens extend, is not tokenized again.
  ComposedPrompt opened(const Sample& sample, const ComposedPrompt& unopened) const;

 private:
  std::optional<std::vector<int32_t>> opened_tokens(const Sample& sample,
                                                    const std::vector<int32_t>& unopened) const;
  PromptText text_of(const Sample& sample, bool opening) const;
  bool in_chat(const Sample& sample) const { return chat_ && sample.chat; }

  const Tokenizer& tokenizer_;
  std::optional<ChatTemplate> chat_;
};

/// The prompt without the middle of its context, so that `tokens` tokens remain (or without any
/// context, if the rest alone is longer).
ComposedPrompt cut_middle(const ComposedPrompt& prompt, int64_t tokens);

/// The sample's question without any context.
Sample without_context(const Sample& sample);

/// Hex xxh3 of all texts of a sample that compose() uses. It shows without tokenizing whether a
/// prompt has changed. The text before an opening in a bare prompt is not included; prompt_hash()
/// covers it.
std::string sample_hash(const Sample& sample, bool opening);

/// Hex xxh3 of the ids.
std::string prompt_hash(const std::vector<int32_t>& tokens);

}  // namespace longhaul
