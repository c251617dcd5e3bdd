#pragma once
// Defines the intermediate form of rules during compilation (grammar/automaton.h): each state has
// its own lists of edges. The last step of the compilation packs them into an Automaton.

#include <cstdint>
#include <string>
#include <vector>

#include "grammar/automaton.h"

namespace longhaul::grammar {

struct RawCall {
  RuleNumber rule;
  uint32_t back;
};

struct RawState {
  std::vector<ByteEdge> bytes;
  std::vector<RawCall> calls;
  std::vector<uint32_t> empties;
  bool final = false;
};

struct RawRule {
  uint32_t begin = 0, end = 0;  ///< range of the rule's states; the first one is its start
  bool used = false;
};

struct RawRules {
  std::vector<RawState> states;
  std::vector<RawRule> rules;
  RuleNumber root = 0;
};

/// Converts the expression of `root`, and of all rules that it calls, to states. A small rule that
/// does not call itself is inserted where it is called. A repetition with many states becomes a
/// rule of its own.
RawRules emit_rules(Syntax& syntax, RuleNumber root);

/// The result of find_ends(). `rules` is true for each rule that can end, and `states` is true for
/// each state from which its rule can end.
struct Ends {
  std::vector<bool> states, rules;
};
/// Determines which rules and states can end. If `by_bytes` is false, edges with bytes are ignored.
/// The result then has the rules and states that can end without matching a byte.
Ends find_ends(const RawRules& rules, bool by_bytes);

/// Removes edges after which the rule cannot end. Throws UserError if the root rule cannot end.
void remove_dead_ends(RawRules& rules);

/// Throws UserError if a rule calls itself before it matches a byte.
void check_left_recursion(const RawRules& rules, const Syntax& syntax);

/// Makes rules deterministic: afterwards, a state has at most one edge for each byte and for each
/// called rule. A rule stays unchanged if this would need many times more states.
void determinise_rules(RawRules& rules);

}  // namespace longhaul::grammar
