#pragma once
// Computes the tokens that a table state allows. The part that does not depend on the open calls
// below the state's base is computed once per state.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/state_tables.h"
#include "grammar/token_trie.h"

namespace longhaul::grammar {

/// A position in a text: a table state, and the number of open calls below its base.
struct Place {
  uint32_t state;
  size_t depth;
};

/// Returns the position after all possible returns from open calls. As long as the base may end,
/// the state is combined with the continuations of its caller. The innermost call is the last
/// element of `stack`.
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

  /// Sets the bits of all tokens that may follow, except tokens that end a reply.
  void write(StateTables& tables, Place place, std::span<const uint32_t> stack,
             std::span<uint64_t> mask);
  size_t memory_bytes() const { return bytes_; }

 private:
  using TrieNodes = std::vector<TokenTrie::TrieNode>;

  /// The tokens of one trie whose result does not depend on open calls.
  struct Known {
    std::vector<int32_t> tokens;  // allowed tokens, if they are few; otherwise empty
    TokenMask mask;               // allowed tokens, if they are many; otherwise empty
    std::vector<uint32_t> ends;   // nodes at which the base may end before further bytes
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
  std::vector<uint32_t> path_;  // table states by depth
  std::vector<Place> places_;   // places by depth, with open calls
  size_t bytes_ = 0;
};

}  // namespace longhaul::grammar
