#pragma once
// Combines a regular expression with limits of the number of characters.

#include <cstdint>
#include <functional>

#include "grammar/regex_tree.h"
#include "grammar/syntax.h"

namespace longhaul::grammar {

/// Returns an expression for the texts that match `tree` and have at least `low` and at most `high`
/// characters (kUnlimited: no limit). `encode` returns the expression for one character of a set.
/// Throws UserError if the expression would need too many states.
Expression counted_expression(const RegexTree& tree, int64_t low, int64_t high, Syntax& syntax,
                              const std::function<Expression(const CharSet&)>& encode);

}  // namespace longhaul::grammar
