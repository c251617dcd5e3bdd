#pragma once
// llama.cpp's form of BNF.

#include <string_view>

#include "grammar/syntax.h"

namespace longhaul::grammar {

/// Adds the rules of a text; the result is the rule `root`. UserError with the line for malformed
/// texts, rules that are missing or defined twice, and features that are not supported.
RuleNumber read_gbnf(std::string_view text, Syntax& syntax);

}  // namespace longhaul::grammar
