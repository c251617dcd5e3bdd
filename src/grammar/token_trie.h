#pragma once
// The vocabulary as a tree of bytes, so that tokens with a common beginning are checked together.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class Tokenizer;

namespace grammar {

/// A set of tokens, bit i % 64 of word i / 64 for token i.
using TokenMask = std::vector<uint64_t>;

class TokenTrie {
 public:
  /// A node in depth-first order: its children follow it, up to `end`.
  struct TrieNode {
    uint32_t end;
    int32_t token;  ///< the token that ends here; -1: none
    uint16_t depth;
    uint8_t byte;
  };

  /// A token and its text; tokens without text are never allowed.
  explicit TokenTrie(std::span<const std::string_view> texts, std::vector<int32_t> ending_tokens);
  static std::shared_ptr<const TokenTrie> of(const Tokenizer& tokenizer);

  /// Tokens that consist of plain characters (printable, neither a quotation mark nor a backslash),
  /// and all others. Strings of JSON allow every plain character, so that their masks are known.
  const std::vector<TrieNode>& plain() const { return plain_; }
  const std::vector<TrieNode>& others() const { return others_; }
  /// Plain tokens of at most so many characters, 0 to kMostPlain.
  static constexpr size_t kMostPlain = 32;
  const TokenMask& plain_mask(size_t characters) const { return plain_masks_[characters]; }

  /// Further tokens with the same text as `token`, which is the lowest of them.
  std::span<const int32_t> equal_tokens(int32_t token) const;

  size_t tokens() const { return texts_.size(); }
  size_t mask_words() const { return (texts_.size() + 63) / 64; }
  size_t longest() const { return longest_; }
  std::string_view text(int32_t token) const;
  const std::vector<int32_t>& ending_tokens() const { return ending_; }
  bool ends(int32_t token) const;

 private:
  void add_trie(std::vector<int32_t>& tokens, std::vector<TrieNode>& nodes);

  std::vector<std::string> texts_;
  std::vector<int32_t> ending_;
  std::vector<TrieNode> plain_, others_;
  std::vector<TokenMask> plain_masks_;
  std::vector<std::pair<int32_t, std::vector<int32_t>>> equal_;  // ascending
  size_t longest_ = 0;
};

}  // namespace grammar
}  // namespace longhaul
