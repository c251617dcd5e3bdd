#pragma once
// Converts tokens to text incrementally. A UTF-8 character is returned only when all its bytes have
// arrived.

#include <cstdint>
#include <string>

#include "tokenizer/tokenizer.h"

namespace longhaul {

struct DetokenizerOptions {
  bool skip_special = true;  ///< whether control tokens yield no text
  /// If true, the tokens begin a text (a reply) and do not continue one. The space that
  /// SentencePiece puts before a text is then removed.
  bool starts_text = false;
};

class Detokenizer {
 public:
  explicit Detokenizer(Tokenizer tokenizer, DetokenizerOptions options = {});

  /// Adds a token. Returns the text that is now complete: valid UTF-8, possibly empty. Bytes that
  /// can no longer become a character are returned as U+FFFD.
  std::string push(int32_t id);

  /// Returns the pending bytes as U+FFFD and resets the detokenizer.
  std::string flush();

 private:
  Tokenizer tokenizer_;
  DetokenizerOptions options_;
  bool strip_space_;
  std::string held_;  // at most 3 bytes: an incomplete character
};

}  // namespace longhaul
