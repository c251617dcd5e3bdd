#pragma once
// From a sample to the tokens that the model reads.

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
  int64_t generated = 0;  ///< tokens at its end that are read one by one, as generated ones are
  int64_t context_begin = 0, context_end = 0;  ///< tokens that hold nothing but context
  std::vector<int64_t> answer;    ///< of them, those that hold it, where that was looked for
  std::vector<int64_t> evidence;  ///< of them, those that look-ups of blocks are made to find
};

class PromptComposer {
 public:
  /// Without a template every prompt is bare text, and names of control tokens in it count, as with
  /// `run --raw`.
  PromptComposer(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat)
      : tokenizer_(tokenizer), chat_(std::move(chat)) {}

  /// System message, context, separator and question in the chat template, then, with `opening`,
  /// the reply's first words behind the assistant mark; in bare text behind `before_opening`,
  /// unless the question ends with them. Where there is a template, text of a sample never becomes
  /// a control token. UserError when it is empty.
  ComposedPrompt compose(const Sample& sample, bool opening) const;

  /// Whether the sample's opening changes the prompt that compose() makes.
  bool opens(const Sample& sample) const;

  /// Tokens of the sample's longest prompt: with its opening, where it has one.
  int64_t most_tokens(const Sample& sample) const;

  /// compose(sample, true) from compose(sample, false): what stands before the template's last
  /// control token, where tokens never run across, is not tokenized again.
  ComposedPrompt opened(const Sample& sample, const ComposedPrompt& unopened) const;

 private:
  std::optional<std::vector<int32_t>> opened_tokens(const Sample& sample,
                                                    const std::vector<int32_t>& unopened) const;
  PromptText text_of(const Sample& sample, bool opening) const;
  bool in_chat(const Sample& sample) const { return chat_ && sample.chat; }

  const Tokenizer& tokenizer_;
  std::optional<ChatTemplate> chat_;
};

/// The prompt with the middle of its context taken out, so that `tokens` are left (or, where the
/// rest alone is longer, no context).
ComposedPrompt cut_middle(const ComposedPrompt& prompt, int64_t tokens);

/// The same question without any context.
Sample without_context(const Sample& sample);

/// Hex xxh3 of all texts of a sample that compose() reads: tells without tokenizing whether a
/// prompt is the same. The text before an opening in a bare prompt is left out; prompt_hash()
/// covers it.
std::string sample_hash(const Sample& sample, bool opening);

/// Hex xxh3 of the ids.
std::string prompt_hash(const std::vector<int32_t>& tokens);

}  // namespace longhaul
