#pragma once
// Where in a prompt the sentence stands that holds what is asked for.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eval/compose.h"

namespace longhaul {

/// Tokens [begin, end) of a prompt.
struct TokenRange {
  int64_t begin = 0, end = 0;
  int64_t length() const { return end - begin; }
  bool operator==(const TokenRange&) const = default;
};

/// The sentences of the prompt's context that hold an answer word for word: from behind one end of
/// a sentence or line to the next. Ascending, each once. Empty where answer_tokens() finds none.
std::vector<TokenRange> evidence_in(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                    std::span<const std::string> answers);

/// Their tokens, ascending.
std::vector<int64_t> evidence_tokens(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                     std::span<const std::string> answers);

/// The block of `block` tokens, counted from token `init` on, that holds most of the range: its
/// first token. -1 where the range begins before `init`, or the block is not whole in `tokens`.
int64_t block_of(const TokenRange& range, int64_t init, int64_t block, int64_t tokens);

}  // namespace longhaul
