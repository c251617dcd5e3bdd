#pragma once
// Tokens that are looked for in the text before anything else happens to it: control tokens and
// user-defined ones.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool special = false;  ///< control: only where the caller says that text may name such tokens
  bool lstrip = false;   ///< swallows white space before it
  bool rstrip = false;   ///< swallows white space after it
};

struct AddedTokenMatch {
  size_t begin, end;
  const AddedToken* token;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// Empty texts are left out; of equal texts the first counts.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// The leftmost and there the longest token at or after `from`.
  std::optional<AddedTokenMatch> find(std::string_view text, size_t from, bool with_special) const;
  const AddedToken* with_text(std::string_view text) const;

  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  const AddedToken* longest_at(std::string_view text, bool with_special) const;

  std::vector<AddedToken> tokens_;          // sorted by text: walked as a trie
  std::array<uint32_t, 257> first_byte_{};  // [first_byte_[b], first_byte_[b + 1]) begin with b
};

}  // namespace longhaul
