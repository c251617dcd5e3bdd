#pragma once
// Reads schemas of strings.

#include <string>

#include "grammar/json_rules.h"
#include "grammar/schema_merge.h"

namespace longhaul::grammar {

/// Returns an expression for the strings that a schema allows by its length, pattern or format.
/// Throws UserError if a pattern or a format is combined with a length, unless the pattern repeats
/// only single characters.
Expression string_schema(const Schema& schema, JsonRules& json);

/// Parses a pattern that may match a part of a text. Throws UserError that names the pattern.
RegexTree pattern_tree(const std::string& pattern);

}  // namespace longhaul::grammar
