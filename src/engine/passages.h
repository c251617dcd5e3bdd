#pragma once
// The sentences of the given texts that a reply drew on, ranked by how much attention the reply's
// tokens paid to them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sources.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

/// A stretch of bytes.
struct ByteRange {
  size_t begin = 0, end = 0;
};

/// Sentences of a text, without the blanks around them: they end behind . ! ? and at the ends of
/// paragraphs; short ones are taken together with the next, long ones are cut.
std::vector<ByteRange> sentences_of(std::string_view text);

struct Passage {
  size_t text = 0;   ///< which of the texts
  ByteRange range;   ///< in it
  double share = 0;  ///< of all that was looked at in the texts
};

class PassageFinder {
 public:
  /// `prompt`: the tokens in which the texts stand, in order. Texts that are not found there word
  /// for word have no passages.
  PassageFinder(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                const std::vector<std::string>& texts);

  /// The `most` passages in which tokens [begin, end) of the reply looked most, best first.
  /// Punctuation and control tokens among them do not count.
  std::vector<Passage> passages(const SourceWatch& watch, std::span<const int32_t> reply,
                                size_t begin, size_t end, size_t most) const;

  /// Whether a token of the prompt stands in a passage of passages().
  bool holds(const Passage& passage, int64_t token) const;

 private:
  bool is_content(int32_t token) const;

  const Tokenizer& tokenizer_;
  std::vector<Passage> all_;       ///< in the order of the prompt
  std::vector<int32_t> of_token_;  ///< by the prompt's token: into all_; -1: none
};

}  // namespace longhaul
