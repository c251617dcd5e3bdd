#include "grammar/automaton.h"

#include "grammar/raw_rules.h"

namespace longhaul::grammar {

/// Packs the lists of edges.
class AutomatonWriter {
 public:
  static Automaton write(const RawRules& raw) {
    Automaton a;
    std::array<bool, 257> begins{};
    a.states_.reserve(raw.states.size() + 1);
    for (const RawState& state : raw.states) {
      a.states_.push_back(first_edges(a));
      a.states_.back().final = state.final;
      a.states_.back().only_final = only_final(raw, state);
      for (const ByteEdge& edge : state.bytes) {
        a.bytes_.push_back(edge);
        begins[edge.low] = begins[size_t{edge.high} + 1] = true;
      }
      for (const RawCall& call : state.calls) {
        a.calls_.push_back({raw.rules[call.rule].begin, call.back});
      }
      a.empties_.insert(a.empties_.end(), state.empties.begin(), state.empties.end());
    }
    a.states_.push_back(first_edges(a));
    a.start_ = raw.rules[raw.root].begin;
    uint8_t now = 0;
    for (size_t byte = 1; byte < 256; ++byte) {
      if (begins[byte]) ++now;
      a.class_of_[byte] = now;
    }
    a.classes_ = size_t{now} + 1;
    return a;
  }

 private:
  static Automaton::State first_edges(const Automaton& a) {
    return {static_cast<uint32_t>(a.bytes_.size()), static_cast<uint32_t>(a.calls_.size()),
            static_cast<uint32_t>(a.empties_.size()), false, false};
  }

  static bool only_final(const RawRules& raw, const RawState& state) {
    if (!state.bytes.empty() || !state.calls.empty()) return false;
    if (state.empties.empty()) return state.final;
    if (state.empties.size() > 1) return false;
    const RawState& next = raw.states[state.empties[0]];
    return next.final && next.bytes.empty() && next.calls.empty() && next.empties.empty();
  }
};

size_t Automaton::memory_bytes() const {
  return states_.capacity() * sizeof(State) + bytes_.capacity() * sizeof(ByteEdge) +
         calls_.capacity() * sizeof(CallEdge) + empties_.capacity() * sizeof(uint32_t);
}

Automaton compile_rules(Syntax& syntax, RuleNumber root) {
  RawRules raw = emit_rules(syntax, root);
  remove_dead_ends(raw);
  check_left_recursion(raw, syntax);
  determinise_rules(raw);
  return AutomatonWriter::write(raw);
}

}  // namespace longhaul::grammar
