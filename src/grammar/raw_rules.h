#pragma once
// Rules during compilation: states with lists of edges, before they are packed.

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
  uint32_t begin = 0, end = 0;  ///< range of its states; the first one is its start
  bool used = false;
};

struct RawRules {
  std::vector<RawState> states;
  std::vector<RawRule> rules;
  RuleNumber root = 0;
};

/// Converts expressions to states. Small rules that do not recurse are inserted where they are
/// called. Long repeats become rules of their own.
RawRules emit_rules(Syntax& syntax, RuleNumber root);

/// The rules that can end, and the states from which their rule can end. If `by_bytes` is true,
/// bytes may be matched before the end; otherwise only the empty text counts.
struct Ends {
  std::vector<bool> states, rules;
};
Ends find_ends(const RawRules& rules, bool by_bytes);

/// Removes edges from which no end can be reached. Throws UserError if the root cannot end.
void remove_dead_ends(RawRules& rules);

/// Throws UserError if a rule calls itself before it matches a byte.
void check_left_recursion(const RawRules& rules, const Syntax& syntax);

/// Replaces each rule by an equivalent one in which a state has at most one edge for every byte and
/// for every called rule. A rule is left unchanged if this would need many times more states.
void determinise_rules(RawRules& rules);

}  // namespace longhaul::grammar
