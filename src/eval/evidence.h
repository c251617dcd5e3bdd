#pragma once
// Location, in a prompt, of the sentence that contains the answer.

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

/// The sentences of the prompt's context that contain an answer word for word, each from the end of
/// the previous sentence or line to its own. Ascending, without duplicates. Empty if
/// answer_tokens() finds none.
std::vector<TokenRange> evidence_in(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                    std::span<const std::string> answers);

/// The tokens of these sentences, ascending.
std::vector<int64_t> evidence_tokens(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                     std::span<const std::string> answers);

/// The first token of the block of `block` tokens, counted from token `init` on, that contains most
/// of the range. -1 if the range begins before `init`, or the block is not complete within
/// `tokens`.
int64_t block_of(const TokenRange& range, int64_t init, int64_t block, int64_t tokens);

}  // namespace longhaul
