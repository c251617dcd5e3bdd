#pragma once
// Ranks the sentences of the texts in a prompt by the attention that they received from the tokens
// of a reply.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sources.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

/// A range of bytes.
struct ByteRange {
  size_t begin = 0, end = 0;
};

/// Divides a text into sentences, without surrounding blanks. A sentence ends after . ! ? and at
/// the end of a paragraph. Short sentences are joined with the next sentence, and long sentences
/// are divided.
std::vector<ByteRange> sentences_of(std::string_view text);

/// A sentence of one of the texts.
struct Passage {
  size_t text = 0;   ///< index of the text
  ByteRange range;   ///< bytes of the sentence in that text
  double share = 0;  ///< attention that the sentence received, divided by that of all texts
};

class PassageFinder {
 public:
  /// `prompt` holds the tokens of the prompt, which contain the texts in order. A text that does
  /// not occur word for word in the prompt has no passages.
  PassageFinder(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                const std::vector<std::string>& texts);

  /// Returns the `most` passages that received most attention from tokens [begin, end) of the
  /// reply, best first. Punctuation and control tokens of the reply are ignored.
  std::vector<Passage> passages(const SourceWatch& watch, std::span<const int32_t> reply,
                                size_t begin, size_t end, size_t most) const;

  /// Returns whether the prompt token with index `token` is part of a passage. The passage must
  /// come from passages().
  bool holds(const Passage& passage, int64_t token) const;

 private:
  /// Returns whether a token contains a letter or digit.
  bool is_content(int32_t token) const;

  const Tokenizer& tokenizer_;
  std::vector<Passage> all_;       ///< all sentences of the texts, in the order of the prompt
  std::vector<int32_t> of_token_;  ///< per prompt token: index into all_; -1: none
};

}  // namespace longhaul
