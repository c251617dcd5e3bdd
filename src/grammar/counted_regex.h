#pragma once
// Patterns together with a limit on the number of characters.

#include <cstdint>
#include <functional>

#include "grammar/regex_tree.h"
#include "grammar/syntax.h"

namespace longhaul::grammar {

/// The texts of a tree with at least `low` and at most `high` characters (kUnlimited: any number).
/// UserError if that needs too many states.
Expression counted_expression(const RegexTree& tree, int64_t low, int64_t high, Syntax& syntax,
                              const std::function<Expression(const CharSet&)>& encode);

}  // namespace longhaul::grammar
