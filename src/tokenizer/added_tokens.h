#pragma once
// Finds added tokens, which are searched in the text before any other step. They are control tokens
// and user-defined tokens.

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
  /// Whether it is a control token, which is matched only if the caller permits such tokens in the
  /// text.
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
  /// Limit for the total size of all texts. Vocabularies have from a few hundred to a hundred
  /// thousand bytes.
  static constexpr size_t kMostBytes = size_t{8} << 20;

  AddedTokens() = default;
  /// Empty texts are skipped. If texts are equal, the first token is used. Throws UserError (with
  /// `where`) if the texts exceed kMostBytes in total.
  explicit AddedTokens(std::vector<AddedToken> tokens, std::string_view where = "added tokens");

  /// Returns the matches in the order of the text. Each match is the leftmost one after the
  /// previous match, and the longest at its position. The time depends only on the length of the
  /// text.
  std::vector<AddedTokenMatch> find_all(std::string_view text, bool with_special) const;
  const AddedToken* with_text(std::string_view text) const;

  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  std::vector<AddedToken> tokens_;  // sorted by text
  TokenAutomaton automaton_;
};

}  // namespace longhaul
