#pragma once
// The automaton made deterministic, state by state and only where texts lead. A table state is a
// set of items: a state of the automaton and the calls that are open above a common base. The calls
// below the base belong to the reader of a text, so that one table state serves at every depth.

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/automaton.h"

namespace longhaul::grammar {

class StateTables {
 public:
  static constexpr uint32_t kDead = 0;  ///< the state that no text leaves

  /// One item, independent of these tables.
  struct Item {
    uint32_t state;
    std::vector<uint32_t> open;  ///< states to return to, the innermost call first
  };
  struct Parted {
    uint32_t state;                ///< without the calls that all items have in common
    std::vector<uint32_t> common;  ///< these calls, the outermost first
  };

  explicit StateTables(std::shared_ptr<const Automaton> automaton);

  /// The table state with only this state of the automaton, without open calls.
  uint32_t resume(uint32_t automaton_state);
  /// Follows one byte as far as it can be followed above the base.
  uint32_t next(uint32_t state, uint8_t byte) {
    if (states_[state].row < 0) expand(state);
    return table_[static_cast<size_t>(states_[state].row) + automaton_->class_of(byte)];
  }
  /// Whether the base may end here, so that its caller may continue.
  bool pops(uint32_t state) const { return states_[state].pops; }
  /// A state that pops, together with the edges of its caller from `back`. Calls of the result are
  /// open above the caller's base.
  uint32_t unwind(uint32_t state, uint32_t back);
  /// Moves calls that are open in all items out of the items.
  const Parted& part(uint32_t state);
  /// The next table state if it is the same for all plain characters (TokenTrie); kDead if not.
  uint32_t plain_next(uint32_t state);
  /// Whether no plain character may follow.
  bool no_plain(uint32_t state);

  std::vector<Item> items(uint32_t state) const;
  uint32_t state_of(const std::vector<Item>& items, bool pops);
  size_t size() const { return states_.size(); }
  size_t memory_bytes() const;
  const Automaton& automaton() const { return *automaton_; }

 private:
  struct TableState {
    uint32_t first = 0, count = 0;  // its part of items_
    int64_t row = -1;               // begin in table_; -1: not computed yet
    bool pops = false;
  };
  struct Call {
    uint32_t back, outer;  // the state to return to, and the call outside of it (0: none)
  };
  using Packed = uint64_t;  // automaton state, and number of the innermost call

  uint32_t pushed(uint32_t back, uint32_t outer);
  uint32_t with_outermost(uint32_t call, uint32_t back);
  std::vector<uint32_t> opened(uint32_t call) const;
  void add_closure(uint32_t automaton_state, uint32_t call);
  uint32_t intern();
  void expand(uint32_t state);
  bool same_for(uint32_t state, uint8_t low, uint8_t high, uint32_t& target);

  std::shared_ptr<const Automaton> automaton_;
  std::vector<TableState> states_;
  std::vector<Packed> items_;
  std::vector<uint32_t> table_;
  std::vector<Call> calls_;
  std::unordered_map<uint64_t, uint32_t> call_numbers_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  std::unordered_map<uint64_t, uint32_t> unwound_;
  std::unordered_map<uint32_t, Parted> parted_;
  std::unordered_map<uint32_t, uint32_t> plain_;

  // The set that is being built.
  std::vector<Packed> set_;
  bool set_pops_ = false;
  std::vector<Packed> left_;
  std::unordered_map<Packed, uint32_t> seen_;  // by round
  uint32_t round_ = 0;
};

}  // namespace longhaul::grammar
