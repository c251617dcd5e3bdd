#pragma once
// StateTables makes a pushdown automaton deterministic. It computes table states and transitions
// only when they are needed. A table state represents all states in which the automaton may be
// after a text. It is a set of items. An item has a state of the automaton and the innermost open
// calls on its stack. The base is the rule that makes the outermost of these calls; an item without
// open calls is in the base itself. The remaining calls on the stack lead to the base, and all
// items have them in common. They are called the rest of the stack. The rest is not part of the
// table state; the user of StateTables stores it. A table state can therefore be used with any rest
// of the stack.

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/automaton.h"

namespace longhaul::grammar {

class StateTables {
 public:
  static constexpr uint32_t kDead = 0;  ///< the table state after a text that cannot match

  /// An item in a form that does not refer to these tables.
  struct Item {
    uint32_t state;
    /// For each open call above the base: the state with which its caller continues, innermost
    /// first.
    std::vector<uint32_t> open;
  };
  struct Parted {
    /// Table state after the calls that all items have in common have been moved to the rest of the
    /// stack.
    uint32_t state;
    /// States with which the callers of the moved calls continue, the outermost first.
    std::vector<uint32_t> common;
  };

  explicit StateTables(std::shared_ptr<const Automaton> automaton);

  /// Returns the table state with a single item: this state of the automaton, without open calls.
  uint32_t resume(uint32_t automaton_state);
  /// Returns the table state after one byte. The result does not consider that the base may end and
  /// return to its caller (pops(), unwind()).
  uint32_t next(uint32_t state, uint8_t byte) {
    if (states_[state].row < 0) expand(state);
    return table_[static_cast<size_t>(states_[state].row) + automaton_->class_of(byte)];
  }
  /// Returns whether the base may end in this table state. The rule that has called the base, which
  /// is in the rest of the stack, may then continue.
  bool pops(uint32_t state) const { return states_[state].pops; }
  /// Returns the table state that also considers that the base ends. pops() must be true for
  /// `state`. The rule that has called the base then continues with the state `back`, the innermost
  /// element of the rest of the stack. This rule is the base of the result.
  uint32_t unwind(uint32_t state, uint32_t back);
  /// Moves the outermost calls that all items have in common out of the items, to the rest of the
  /// stack.
  const Parted& part(uint32_t state);
  /// Returns the table state after one plain character (TokenTrie::plain()) if it is the same for
  /// all plain characters. Otherwise returns kDead.
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
    // State with which the caller continues, and index of the enclosing call (0: none).
    uint32_t back, outer;
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

  // The following members are the set of items that is being computed.
  std::vector<Packed> set_;
  bool set_pops_ = false;
  std::vector<Packed> left_;
  std::unordered_map<Packed, uint32_t> seen_;  // for each item, the last round that added it
  uint32_t round_ = 0;
};

}  // namespace longhaul::grammar
