#pragma once
// Makes the automaton deterministic, one state at a time and only for states that texts reach. A
// table state is a set of items. An item is a state of the automaton, together with the calls that
// are open above a common base. The calls below the base are not part of the table state; its user
// stores them. The same table state can therefore be used at every depth of calls.

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/automaton.h"

namespace longhaul::grammar {

class StateTables {
 public:
  static constexpr uint32_t kDead = 0;  ///< state of texts that cannot match

  /// One item, in a form that is independent of these tables.
  struct Item {
    uint32_t state;
    std::vector<uint32_t> open;  ///< states to return to, the innermost call first
  };
  struct Parted {
    uint32_t state;                ///< table state without the calls that all items have in common
    std::vector<uint32_t> common;  ///< the calls that all items have in common, the outermost first
  };

  explicit StateTables(std::shared_ptr<const Automaton> automaton);

  /// Returns the table state that has only this state of the automaton, without open calls.
  uint32_t resume(uint32_t automaton_state);
  /// Returns the table state after one byte. Transitions below the base are not included.
  uint32_t next(uint32_t state, uint8_t byte) {
    if (states_[state].row < 0) expand(state);
    return table_[static_cast<size_t>(states_[state].row) + automaton_->class_of(byte)];
  }
  /// Returns whether the base may end in this state, so that its caller may continue.
  bool pops(uint32_t state) const { return states_[state].pops; }
  /// Returns a state that pops, combined with the edges of its caller from `back` on. Open calls of
  /// the result are above the caller's base.
  uint32_t unwind(uint32_t state, uint32_t back);
  /// Moves the calls that are open in all items out of the items.
  const Parted& part(uint32_t state);
  /// Returns the next table state if it is the same for all plain characters (TokenTrie), and
  /// otherwise kDead.
  uint32_t plain_next(uint32_t state);
  /// Returns whether no plain character may follow.
  bool no_plain(uint32_t state);

  std::vector<Item> items(uint32_t state) const;
  uint32_t state_of(const std::vector<Item>& items, bool pops);
  size_t size() const { return states_.size(); }
  size_t memory_bytes() const;
  const Automaton& automaton() const { return *automaton_; }

 private:
  struct TableState {
    uint32_t first = 0, count = 0;  // range of its items in items_
    int64_t row = -1;               // start of its row in table_; -1: not computed yet
    bool pops = false;
  };
  struct Call {
    uint32_t back, outer;  // state to return to, and index of the enclosing call (0: none)
  };
  using Packed = uint64_t;  // automaton state, and index of the innermost call

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
  std::unordered_map<Packed, uint32_t> seen_;  // for each item, the last round that added it
  uint32_t round_ = 0;
};

}  // namespace longhaul::grammar
