#pragma once
// A TokenTrie has the texts of a vocabulary's tokens as a trie (a tree of bytes). With a trie, a
// grammar checks the common prefix of several tokens only once.

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
  /// A node of the trie. Nodes are in depth-first order: the descendants of a node follow directly
  /// after it, and `end` is the index after the last of them.
  struct TrieNode {
    uint32_t end;
    int32_t token;  ///< token that ends at this node; -1: none
    uint16_t depth;
    uint8_t byte;
  };

  /// `texts` has the text of each token. Tokens without text are never allowed.
  explicit TokenTrie(std::span<const std::string_view> texts, std::vector<int32_t> ending_tokens);
  static std::shared_ptr<const TokenTrie> of(const Tokenizer& tokenizer);

  /// There are two tries. plain() has the tokens that consist of plain characters: printable
  /// characters except the quotation mark and the backslash. others() has all other tokens. Inside
  /// a JSON string every plain character is allowed, so the masks for plain tokens are computed in
  /// advance.
  const std::vector<TrieNode>& plain() const { return plain_; }
  const std::vector<TrieNode>& others() const { return others_; }
  /// plain_mask() returns the plain tokens that have at most `characters` characters. kMostPlain is
  /// the largest number for which it can be called.
  static constexpr size_t kMostPlain = 32;
  const TokenMask& plain_mask(size_t characters) const { return plain_masks_[characters]; }

  /// Several tokens may have the same text. The trie has only the one with the lowest id. `token`
  /// is this one, and the result has the ids of the others.
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
