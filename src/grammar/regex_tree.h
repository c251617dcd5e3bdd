#pragma once
// Patterns as trees, for grammars. The syntax is the common part of ECMAScript, Python and Rust.

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

/// Throws UserError for malformed patterns, and for constructs that no automaton can match
/// (references to groups, assertions).
RegexTree parse_regex(std::string_view pattern);

enum class RegexSpan : uint8_t {
  kWhole,     ///< the pattern describes the whole text; ^ and $ at its ends change nothing
  kAnywhere,  ///< it may match a part of the text, unless ^ and $ forbid that
};

/// Removes anchors. `any` stands for any text before or after a match. UserError for an anchor that
/// is not at an end of the pattern.
RegexTree without_anchors(RegexTree tree, RegexSpan span, const RegexTree& any);

/// The tree over bytes; `encode` writes a set of characters.
Expression regex_expression(const RegexTree& tree, Syntax& syntax,
                            const std::function<Expression(const CharSet&)>& encode);

}  // namespace longhaul::grammar
