#pragma once
// The vocabulary as a tree of bytes. Tokens with a common prefix are checked together.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class Tokenizer;

namespace grammar {

/// A set of tokens. Bit i % 64 of word i / 64 represents token i.
using TokenMask = std::vector<uint64_t>;

class TokenTrie {
 public:
  /// A node. Nodes are in depth-first order: the descendants of a node follow it, up to index
  /// `end`.
  struct TrieNode {
    uint32_t end;
    int32_t token;  ///< token that ends at this node; -1: none
    uint16_t depth;
    uint8_t byte;
  };

  /// `texts` has the text of each token. Tokens without text are never allowed.
  explicit TokenTrie(std::span<const std::string_view> texts, std::vector<int32_t> ending_tokens);
  static std::shared_ptr<const TokenTrie> of(const Tokenizer& tokenizer);

  /// plain() has the tokens that consist of plain characters (printable, and neither a quotation
  /// mark nor a backslash), and others() has all other tokens. JSON strings allow every plain
  /// character, so their masks can be computed in advance.
  const std::vector<TrieNode>& plain() const { return plain_; }
  const std::vector<TrieNode>& others() const { return others_; }
  /// Largest argument of plain_mask(), which returns the plain tokens of at most `characters`
  /// characters.
  static constexpr size_t kMostPlain = 32;
  const TokenMask& plain_mask(size_t characters) const { return plain_masks_[characters]; }

  /// Returns further tokens with the same text as `token`, whose id must be the lowest of them.
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
  // Tokens with equal texts, ascending.
  std::vector<std::pair<int32_t, std::vector<int32_t>>> equal_;
  size_t longest_ = 0;
};

}  // namespace grammar
}  // namespace longhaul
