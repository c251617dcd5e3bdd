#pragma once
// Computes the tokens that may follow in a table state (grammar/state_tables.h). For most tokens
// this depends only on the table state, so it is computed once per state and stored. For other
// tokens it also depends on the rest of the stack.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/state_tables.h"
#include "grammar/token_trie.h"

namespace longhaul::grammar {

/// A table state, and the number of open calls in the rest of the stack (grammar/state_tables.h).
struct Place {
  uint32_t state;
  size_t depth;
};

/// Returns the place that considers all rules that may continue. As long as the base may end,
/// StateTables::unwind() adds the rule that has called it. `stack` is the rest of the stack, the
/// innermost call last.
inline Place resolved(StateTables& tables, Place place, std::span<const uint32_t> stack) {
  while (place.depth > 0 && tables.pops(place.state)) {
    --place.depth;
    place.state = tables.unwind(place.state, stack[place.depth]);
  }
  return place;
}

class TokenMasks {
 public:
  explicit TokenMasks(const TokenTrie& vocabulary) : vocabulary_(vocabulary) {}

  /// Sets the bits of `mask` for all tokens that may follow, except for tokens that end a reply.
  void write(StateTables& tables, Place place, std::span<const uint32_t> stack,
             std::span<uint64_t> mask);
  size_t memory_bytes() const { return bytes_; }

 private:
  using TrieNodes = std::vector<TokenTrie::TrieNode>;

  /// The tokens of one trie (plain() or others()) that may follow in a table state, as far as they
  /// do not depend on the rest of the stack.
  struct Known {
    std::vector<int32_t> tokens;  // allowed tokens, if they are few; otherwise empty
    TokenMask mask;               // allowed tokens, if they are many; otherwise empty
    // Trie nodes at which the rule at the base may end although the token continues.
    std::vector<uint32_t> ends;
  };

  const Known& known(StateTables& tables, uint32_t state, bool plain);
  void add_known(StateTables& tables, Place place, std::span<const uint32_t> stack, bool plain,
                 std::span<uint64_t> mask);
  int all_plain(StateTables& tables, Place place, std::span<const uint32_t> stack);
  void add_rest(StateTables& tables, const TrieNodes& nodes, std::span<const uint32_t> ends,
                Place from, std::span<const uint32_t> stack, std::span<uint64_t> mask);
  void set(std::span<uint64_t> mask, int32_t token) const;

  const TokenTrie& vocabulary_;
  std::unordered_map<uint32_t, Known> plain_, others_;
  std::vector<uint32_t> path_;  // table state at each depth of the trie
  std::vector<Place> places_;   // place at each depth of the trie
  size_t bytes_ = 0;
};

}  // namespace longhaul::grammar
