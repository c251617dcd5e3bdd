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
  /// Number of tokens at the end of the prompt that are decoded one by one, as if they were
  /// generated.
  int64_t generated = 0;
  /// Number of tokens at the beginning that are prefilled separately, before the rest
  /// (Sample::context_first).
  int64_t read_first = 0;
  int64_t context_begin = 0, context_end = 0;  ///< range of tokens that contain only context
  /// Positions of the context's tokens that contain the answer; empty if they have not been
  /// searched.
  std::vector<int64_t> answer;
  /// Positions of tokens in the context. Methods that look up blocks must also select the blocks of
  /// these tokens (PromptFacts::evidence).
  std::vector<int64_t> evidence;
};

class PromptComposer {
 public:
  /// Without a chat template, every prompt is bare text. In bare text, the names of control tokens
  /// become control tokens, as with `run --raw`.
  PromptComposer(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat)
      : tokenizer_(tokenizer), chat_(std::move(chat)) {}

  /// Builds a prompt from the sample's system message, context, separator and question. The chat
  /// template renders them, unless the prompt is bare text. If `opening` is true, Sample::opening
  /// follows after the mark with which the template begins the reply. In bare text, which has no
  /// such mark, Sample::before_opening and Sample::opening follow, unless the question already ends
  /// with them. With a chat template, the text of a sample never becomes a control token. Throws
  /// UserError if the prompt is empty.
  ComposedPrompt compose(const Sample& sample, bool opening) const;

  /// Returns whether compose() returns different prompts for `opening` = true and false.
  bool opens(const Sample& sample) const;

  /// Returns the number of tokens of the sample's prompt with its opening, if it has one.
  int64_t most_tokens(const Sample& sample) const;

  /// Returns compose(sample, true). `unopened` is the result of compose(sample, false). The tokens
  /// up to the last control token are copied from `unopened`, so that a long text is not tokenized
  /// twice. These tokens are the same in both prompts, because no token extends across a control
  /// token.
  ComposedPrompt opened(const Sample& sample, const ComposedPrompt& unopened) const;

 private:
  std::optional<std::vector<int32_t>> opened_tokens(const Sample& sample,
                                                    const std::vector<int32_t>& unopened) const;
  PromptText text_of(const Sample& sample, bool opening) const;
  bool in_chat(const Sample& sample) const { return chat_ && sample.chat; }

  const Tokenizer& tokenizer_;
  std::optional<ChatTemplate> chat_;
};

/// Removes tokens from the middle of the context, so that `tokens` tokens of the prompt remain. If
/// the prompt is longer than `tokens` even without context, the whole context is removed.
ComposedPrompt cut_middle(const ComposedPrompt& prompt, int64_t tokens);

/// Returns the sample with its question but without context.
Sample without_context(const Sample& sample);

/// Returns the XXH3 hash, in hexadecimal, of all texts of a sample that compose() uses. If a sample
/// has changed, this hash shows it without tokenizing. Sample::before_opening is not included;
/// prompt_hash() covers it.
std::string sample_hash(const Sample& sample, bool opening);

/// Returns the XXH3 hash of the token ids in hexadecimal.
std::string prompt_hash(const std::vector<int32_t>& tokens);

}  // namespace longhaul
