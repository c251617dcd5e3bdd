#pragma once
// Parses regular expressions of grammars to trees. The supported syntax is what ECMAScript, Python
// and Rust have in common.

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
  /// For kRepeat: least and greatest number of repetitions; `high` may be kUnlimited.
  int64_t low = 0, high = 0;
};

/// Parses a pattern. Throws UserError if it is malformed, or if it has assertions or references to
/// groups, which a finite automaton cannot match.
RegexTree parse_regex(std::string_view pattern);

enum class RegexSpan : uint8_t {
  kWhole,     ///< the pattern matches the whole text; ^ and $ at its ends have no effect
  kAnywhere,  ///< the pattern may match a part of the text, unless ^ or $ prevents it
};

/// Removes the anchors ^ and $ from a tree. With kAnywhere, inserts `any`, which matches any text,
/// at each end of the pattern that has no anchor. Throws UserError if an anchor is not at an end of
/// the pattern.
RegexTree without_anchors(RegexTree tree, RegexSpan span, const RegexTree& any);

/// Converts the tree to an expression. `encode` returns the expression for one character of a set.
Expression regex_expression(const RegexTree& tree, Syntax& syntax,
                            const std::function<Expression(const CharSet&)>& encode);

}  // namespace longhaul::grammar
