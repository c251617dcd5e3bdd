#pragma once
// Converts tokens to text one by one. A token can end within a UTF-8 character. Such a character is
// returned only when further tokens have completed it.

#include <cstdint>
#include <string>

#include "tokenizer/tokenizer.h"

namespace longhaul {

struct DetokenizerOptions {
  bool skip_special = true;  ///< whether control tokens yield no text
  /// Whether the tokens begin a new text, such as a reply, and do not continue a text. If so, the
  /// space that SentencePiece puts before a text is removed.
  bool starts_text = false;
};

class Detokenizer {
 public:
  explicit Detokenizer(Tokenizer tokenizer, DetokenizerOptions options = {});

  /// Adds a token. Returns the characters that are now complete, as valid UTF-8; the result may be
  /// empty. Bytes that cannot become a valid character any more are returned as U+FFFD.
  std::string push(int32_t id);

  /// Returns the bytes of an incomplete character as U+FFFD, and resets the detokenizer.
  std::string flush();

 private:
  Tokenizer tokenizer_;
  DetokenizerOptions options_;
  bool strip_space_;
  std::string held_;  // at most 3 bytes: an incomplete character
};

}  // namespace longhaul
