#pragma once
// Tokens to text as they come: a UTF-8 character is given out only when all its bytes are there.

#include <cstdint>
#include <string>

#include "tokenizer/tokenizer.h"

namespace longhaul {

struct DetokenizerOptions {
  bool skip_special = true;  ///< control tokens give no text
  /// The tokens begin a text (a reply) and do not continue one: the one space that SentencePiece
  /// puts before a text is dropped.
  bool starts_text = false;
};

class Detokenizer {
 public:
  explicit Detokenizer(Tokenizer tokenizer, DetokenizerOptions options = {});

  /// The text that is now complete: valid UTF-8, perhaps empty. Bytes that can no longer become a
  /// character are given as U+FFFD.
  std::string push(int32_t id);

  /// What is still held back, as U+FFFD; the detokenizer is then as new.
  std::string flush();

 private:
  Tokenizer tokenizer_;
  DetokenizerOptions options_;
  bool strip_space_;
  std::string held_;  // at most 3 bytes: the beginning of a character
};

}  // namespace longhaul
