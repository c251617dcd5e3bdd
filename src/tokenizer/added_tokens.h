#pragma once
// Finds added tokens in a text. Added tokens are control tokens and user-defined tokens. They are
// searched before any other step of tokenization.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/token_automaton.h"

namespace longhaul {

struct AddedToken {
  std::string text;
  int32_t id = 0;
  /// Whether it is a control token. A control token is found only if the caller permits control
  /// tokens in the text.
  bool special = false;
  bool lstrip = false;  ///< whether the match includes white space before it
  bool rstrip = false;  ///< whether the match includes white space after it
};

struct AddedTokenMatch {
  size_t begin, end;
  const AddedToken* token;
};

class AddedTokens {
 public:
  /// Limit of the total size of the texts of all added tokens. In real vocabularies it is at most
  /// about a hundred thousand bytes.
  static constexpr size_t kMostBytes = size_t{8} << 20;

  AddedTokens() = default;
  /// Tokens with an empty text are skipped. If several tokens have the same text, the first one is
  /// used. Throws UserError if the texts exceed kMostBytes in total; the message begins with
  /// `where`.
  explicit AddedTokens(std::vector<AddedToken> tokens, std::string_view where = "added tokens");

  /// Returns the matches in the order of the text. Each match is the leftmost one after the
  /// previous match, and the longest at its position. Control tokens are found only if
  /// `with_special` is true. The time depends only on the length of the text, not on the number of
  /// tokens.
  std::vector<AddedTokenMatch> find_all(std::string_view text, bool with_special) const;
  const AddedToken* with_text(std::string_view text) const;

  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  std::vector<AddedToken> tokens_;  // sorted by text
  TokenAutomaton automaton_;
};

}  // namespace longhaul
