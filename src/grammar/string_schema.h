#pragma once
// Reads the schemas of strings in a JSON Schema.

#include <string>

#include "grammar/json_rules.h"
#include "grammar/schema_merge.h"

namespace longhaul::grammar {

/// Returns an expression for the strings that a schema allows by minLength, maxLength, pattern and
/// format. Throws UserError if a length is combined with a format, or with a pattern that repeats
/// more than single characters.
Expression string_schema(const Schema& schema, JsonRules& json);

/// Parses a pattern, which may match any part of a text. Throws a UserError that names the pattern
/// if it is invalid.
RegexTree pattern_tree(const std::string& pattern);

}  // namespace longhaul::grammar
