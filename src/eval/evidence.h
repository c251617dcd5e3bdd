#pragma once
// Finds the evidence: the sentences of a prompt's context that contain the answer.

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

/// Returns the sentences of the prompt's context that contain an answer word for word. A sentence
/// begins at the end of the previous sentence or line. The result is in ascending order, without
/// duplicates. It is empty if answer_tokens() finds nothing.
std::vector<TokenRange> evidence_in(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                    std::span<const std::string> answers);

/// Returns the tokens of the sentences of evidence_in(), in ascending order.
std::vector<int64_t> evidence_tokens(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                     std::span<const std::string> answers);

/// Methods that look up blocks divide a prompt into blocks of `block` tokens, after the first
/// `init` tokens. Returns the position of the first token of the block that contains most of
/// `range`. Returns -1 if the range begins before `init`, or if the block is not complete within
/// the first `tokens` tokens of the prompt.
int64_t block_of(const TokenRange& range, int64_t init, int64_t block, int64_t tokens);

}  // namespace longhaul
