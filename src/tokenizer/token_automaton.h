#pragma once
// TokenAutomaton finds all positions in a text at which one of many strings begins. It is an
// Aho-Corasick automaton (Aho and Corasick 1975) of the reversed strings, and it reads the text
// from its end to its beginning. In this way, it finds the longest string that begins at a
// position. If it read the text forwards, it would find the longest string that ends at a position.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace longhaul {

class TokenAutomaton {
 public:
  struct Entry {
    std::string_view text;  ///< not empty, and unique
    bool special = false;
  };

  TokenAutomaton() = default;
  /// The views in `entries` need not outlive the call. The automaton needs 20 bytes of memory for
  /// each byte of text.
  explicit TokenAutomaton(std::span<const Entry> entries);

  /// Calls visit(begin, index) for every position at which an entry begins. `index` is that of the
  /// longest such entry. The last position comes first. Special entries are found only if
  /// `with_special` is true.
  template <class Visit>
  void from_the_end(std::string_view text, bool with_special, Visit&& visit) const {
    if (states_.empty()) return;
    uint32_t state = 0;
    for (size_t at = text.size(); at-- > 0;) {
      const auto byte = static_cast<uint8_t>(text[at]);
      state = state == 0 ? from_root_[byte] : step(state, byte);
      const uint32_t longest = with_special ? states_[state].longest : states_[state].longest_plain;
      if (longest != kNone) visit(at, longest);
    }
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct State {
    uint32_t fail = 0;
    uint32_t first_edge = 0;  // edges_[first_edge, first_edge of the next state), sorted by byte
    uint32_t longest = kNone, longest_plain = kNone;
  };
  /// Returns the child state, or kNone if there is none. Edges lead to states in ascending order,
  /// and the first edge leads to state 1.
  uint32_t child(uint32_t state, uint8_t byte) const;
  uint32_t step(uint32_t state, uint8_t byte) const;

  // The root comes first. The others are in ascending order of the lengths of their strings. One
  // additional state at the end marks the end of the last state's edges.
  std::vector<State> states_;
  std::vector<uint8_t> edges_;
  std::array<uint32_t, 256> from_root_{};
};

}  // namespace longhaul
