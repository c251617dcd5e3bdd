#pragma once
// Patterns as trees, for grammars. The syntax is the common subset of ECMAScript, Python and Rust.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "grammar/char_set.h"
#include "grammar/syntax.h"

namespace longhaul::grammar {

enum class RegexKind : uint8_t {
  kEmpty,
  kChars,
  kSequence,
  kChoice,
  kRepeat,
  kBegin,  ///< ^
  kEnd,    ///< $
};

struct RegexTree {
  RegexKind kind = RegexKind::kEmpty;
  CharSet chars = {};
  std::vector<RegexTree> parts = {};
  int64_t low = 0, high = 0;  ///< counts of a repeat; high may be kUnlimited
};

/// Parses a pattern. Throws UserError if it is malformed or has constructs that no automaton can
/// match (references to groups, assertions).
RegexTree parse_regex(std::string_view pattern);

enum class RegexSpan : uint8_t {
  kWhole,     ///< the pattern matches the whole text; ^ and $ at its ends have no effect
  kAnywhere,  ///< the pattern may match a part of the text, unless ^ or $ prevents it
};

/// Removes the anchors of a tree. `any` is inserted for the text before or after a match. Throws
/// UserError for an anchor that is not at an end of the pattern.
RegexTree without_anchors(RegexTree tree, RegexSpan span, const RegexTree& any);

/// Converts the tree to an expression over bytes. `encode` converts a set of characters.
Expression regex_expression(const RegexTree& tree, Syntax& syntax,
                            const std::function<Expression(const CharSet&)>& encode);

}  // namespace longhaul::grammar
