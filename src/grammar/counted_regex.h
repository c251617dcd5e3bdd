#pragma once
// Combines patterns with limits on the number of characters.

#include <cstdint>
#include <functional>

#include "grammar/regex_tree.h"
#include "grammar/syntax.h"

namespace longhaul::grammar {

/// Returns an expression for the texts of a tree with at least `low` and at most `high` characters
/// (kUnlimited: no limit). Throws UserError if this needs too many states.
Expression counted_expression(const RegexTree& tree, int64_t low, int64_t high, Syntax& syntax,
                              const std::function<Expression(const CharSet&)>& encode);

}  // namespace longhaul::grammar
