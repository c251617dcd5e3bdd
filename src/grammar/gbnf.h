#pragma once
// Reads GBNF, llama.cpp's form of BNF.

#include <string_view>

#include "grammar/syntax.h"

namespace longhaul::grammar {

/// Adds the rules in `text` to `syntax`, and returns the rule with the name `root`. Throws a
/// UserError with the line number if the text is malformed, if a rule is missing or defined twice,
/// or if a feature of GBNF is not supported.
RuleNumber read_gbnf(std::string_view text, Syntax& syntax);

}  // namespace longhaul::grammar
