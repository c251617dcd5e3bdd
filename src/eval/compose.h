#pragma once
// PromptComposer converts a sample to the tokens of a prompt.

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
  /// Number of last tokens that are processed one by one, like generated tokens.
  int64_t generated = 0;
  /// Number of first tokens that are processed as a separate prompt (Sample::context_first).
  int64_t read_first = 0;
  int64_t context_begin = 0, context_end = 0;  ///< range of tokens that contain only context
  /// Positions of context tokens that contain the answer, if they were searched.
  std::vector<int64_t> answer;
  /// Positions of context tokens whose blocks must be looked up (PromptFacts::evidence).
  std::vector<int64_t> evidence;
};

class PromptComposer {
 public:
  /// If there is no chat template, every prompt is bare text. Names of control tokens in bare text
  /// are recognised, as with `run --raw`.
  PromptComposer(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat)
      : tokenizer_(tokenizer), chat_(std::move(chat)) {}

  /// Builds a prompt from system message, context, separator and question, with the chat template.
  /// If `opening` is true, the opening words of the reply follow after the assistant mark. Bare
  /// text has no assistant mark. In bare text, the opening words follow after `before_opening`,
  /// unless the question already ends with them. With a chat template, text of a sample never
  /// becomes a control token. Throws UserError if the prompt is empty.
  ComposedPrompt compose(const Sample& sample, bool opening) const;

  /// Returns whether compose() gives different prompts with and without opening.
  bool opens(const Sample& sample) const;

  /// Returns the number of tokens of the sample's longest prompt, which includes the opening if
  /// there is one.
  int64_t most_tokens(const Sample& sample) const;

  /// Returns compose(sample, true), given the result of compose(sample, false). The text before the
  /// last control token of the template is not tokenized again. This is possible because no token
  /// extends across a control token.
  ComposedPrompt opened(const Sample& sample, const ComposedPrompt& unopened) const;

 private:
  std::optional<std::vector<int32_t>> opened_tokens(const Sample& sample,
                                                    const std::vector<int32_t>& unopened) const;
  PromptText text_of(const Sample& sample, bool opening) const;
  bool in_chat(const Sample& sample) const { return chat_ && sample.chat; }

  const Tokenizer& tokenizer_;
  std::optional<ChatTemplate> chat_;
};

/// Returns the prompt without the middle of its context, so that `tokens` tokens remain. If the
/// prompt without context is longer, the whole context is removed.
ComposedPrompt cut_middle(const ComposedPrompt& prompt, int64_t tokens);

/// Returns the sample with its question but without context.
Sample without_context(const Sample& sample);

/// Returns the hex xxh3 of all texts of a sample that compose() uses. A changed prompt is detected
/// by this hash without tokenizing. Sample::before_opening is not included; prompt_hash() covers
/// it.
std::string sample_hash(const Sample& sample, bool opening);

/// Returns the hex xxh3 of the token ids.
std::string prompt_hash(const std::vector<int32_t>& tokens);

}  // namespace longhaul
