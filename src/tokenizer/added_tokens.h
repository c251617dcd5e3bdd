#pragma once
// Tokens that are searched in the text before any other step: control tokens and user-defined ones.

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
  /// control token: matched only if the caller allows text to contain such tokens
  bool special = false;
  bool lstrip = false;  ///< swallows white space before it
  bool rstrip = false;  ///< swallows white space after it
};

struct AddedTokenMatch {
  size_t begin, end;
  const AddedToken* token;
};

class AddedTokens {
 public:
  /// Most bytes of all texts together; vocabularies have a few hundred to a hundred thousand.
  static constexpr size_t kMostBytes = size_t{8} << 20;

  AddedTokens() = default;
  /// Empty texts are skipped; of equal texts the first counts. UserError (with `where`) if they
  /// exceed kMostBytes together.
  explicit AddedTokens(std::vector<AddedToken> tokens, std::string_view where = "added tokens");

  /// Matches from the text's beginning on: the leftmost token, the longest at that place, then the
  /// same for the rest. Time depends only on the text's length.
  std::vector<AddedTokenMatch> find_all(std::string_view text, bool with_special) const;
  const AddedToken* with_text(std::string_view text) const;

  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  std::vector<AddedToken> tokens_;  // sorted by text
  TokenAutomaton automaton_;
};

}  // namespace longhaul
