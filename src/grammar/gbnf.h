#pragma once
// Reads GBNF, llama.cpp's form of BNF.

#include <string_view>

#include "grammar/syntax.h"

namespace longhaul::grammar {

/// Adds the rules of a text and returns the rule `root`. Throws UserError with the line if the text
/// is malformed, a rule is missing or defined twice, or a feature is not supported.
RuleNumber read_gbnf(std::string_view text, Syntax& syntax);

}  // namespace longhaul::grammar
