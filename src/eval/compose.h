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
  int64_t generated =
      0;  ///< tokens at the end that are processed one by one, like generated tokens
  /// first tokens that are read as a prompt of their own (Sample::context_first)
  int64_t read_first = 0;
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

  /// Builds a prompt from system message, context, separator and question with the chat template.
  /// With `opening`, the reply's first words are added after the assistant mark. Bare text has no
  /// assistant mark, so they are added after `before_opening`, unless the question already ends
  /// with them. With a template, text of a sample never becomes a control token. Throws UserError
  /// if the prompt is empty.
  ComposedPrompt compose(const Sample& sample, bool opening) const;

  /// Returns whether the sample's opening changes the result of compose().
  bool opens(const Sample& sample) const;

  /// Returns the number of tokens of the sample's longest prompt, which includes the opening if
  /// there is one.
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

/// Removes the middle of the prompt's context, so that `tokens` tokens remain. If the rest of the
/// prompt alone is longer, the whole context is removed.
ComposedPrompt cut_middle(const ComposedPrompt& prompt, int64_t tokens);

/// Returns the sample with its question but without context.
Sample without_context(const Sample& sample);

/// Returns the hex xxh3 of all texts of a sample that compose() uses. The hash shows whether a
/// prompt has changed, without tokenizing. The text before an opening in a bare prompt is not
/// included; prompt_hash() covers it.
std::string sample_hash(const Sample& sample, bool opening);

/// Returns the hex xxh3 of the token ids.
std::string prompt_hash(const std::vector<int32_t>& tokens);

}  // namespace longhaul
