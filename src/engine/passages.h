#pragma once
// Ranks the sentences of the given texts by the attention that they received from the reply's
// tokens.

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

/// Sentences of a text, without surrounding blanks. They end after . ! ? and at the ends of
/// paragraphs. Short ones are joined with the next, and long ones are cut.
std::vector<ByteRange> sentences_of(std::string_view text);

struct Passage {
  size_t text = 0;   ///< index of the text
  ByteRange range;   ///< its place in that text
  double share = 0;  ///< its share of the attention on the texts
};

class PassageFinder {
 public:
  /// `prompt`: the tokens that contain the texts, in order. Texts that do not occur there word for
  /// word have no passages.
  PassageFinder(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                const std::vector<std::string>& texts);

  /// The `most` passages with most attention from tokens [begin, end) of the reply, best first.
  /// Punctuation and control tokens among them do not count.
  std::vector<Passage> passages(const SourceWatch& watch, std::span<const int32_t> reply,
                                size_t begin, size_t end, size_t most) const;

  /// Whether a token of the prompt is in a passage of passages().
  bool holds(const Passage& passage, int64_t token) const;

 private:
  bool is_content(int32_t token) const;

  const Tokenizer& tokenizer_;
  std::vector<Passage> all_;       ///< in the order of the prompt
  std::vector<int32_t> of_token_;  ///< by the prompt's token: index into all_; -1: none
};

}  // namespace longhaul
