#pragma once
// An Automaton is the compiled form of a grammar. It is a pushdown automaton whose input symbols
// are bytes. Every rule of the grammar is a finite automaton. A reference from one rule to another
// is a call. Its call edge leads to the first state of the called rule. The state with which the
// calling rule continues afterwards is pushed onto the stack.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/syntax.h"

namespace longhaul::grammar {

struct ByteEdge {
  uint8_t low, high;
  uint32_t target;
};

struct CallEdge {
  uint32_t start;  ///< first state of the called rule
  uint32_t back;   ///< state of the caller after the call
};

class Automaton {
 public:
  struct State {
    /// Index of the state's first edge of each kind. The edges end at the first edge of the next
    /// state.
    uint32_t bytes = 0, calls = 0, empties = 0;
    bool final = false;       ///< whether the rule may end in this state
    bool only_final = false;  ///< whether the rule must end in this state
  };

  std::span<const ByteEdge> byte_edges(uint32_t s) const {
    return std::span(bytes_).subspan(states_[s].bytes, states_[s + 1].bytes - states_[s].bytes);
  }
  std::span<const CallEdge> call_edges(uint32_t s) const {
    return std::span(calls_).subspan(states_[s].calls, states_[s + 1].calls - states_[s].calls);
  }
  std::span<const uint32_t> empty_edges(uint32_t s) const {
    return std::span(empties_).subspan(states_[s].empties,
                                       states_[s + 1].empties - states_[s].empties);
  }
  const State& state(uint32_t s) const { return states_[s]; }
  uint32_t start() const { return start_; }
  size_t size() const { return states_.empty() ? 0 : states_.size() - 1; }
  size_t memory_bytes() const;

  /// Returns the class of a byte. In every state, all bytes of a class lead to the same states.
  uint8_t class_of(uint8_t byte) const { return class_of_[byte]; }
  size_t classes() const { return classes_; }

 private:
  friend class AutomatonWriter;
  // One more state follows after the last one. It marks the end of the last state's edges.
  std::vector<State> states_;
  std::vector<ByteEdge> bytes_;
  std::vector<CallEdge> calls_;
  std::vector<uint32_t> empties_;
  uint32_t start_ = 0;
  std::array<uint8_t, 256> class_of_{};
  size_t classes_ = 1;
};

/// Compiles the rule `root` and all rules that it calls, directly or indirectly. Throws UserError
/// if a rule calls itself before it matches a byte, if no text matches, or if there are too many
/// states.
Automaton compile_rules(Syntax& syntax, RuleNumber root);

}  // namespace longhaul::grammar
