#pragma once
// Schemas of strings.

#include <string>

#include "grammar/json_rules.h"
#include "grammar/schema_merge.h"

namespace longhaul::grammar {

/// The strings that a schema allows by its length, pattern or format. UserError for a pattern or a
/// format together with a length, unless the pattern repeats single characters only.
Expression string_schema(const Schema& schema, JsonRules& json);

/// A pattern that may match a part of a text. UserError names it.
RegexTree pattern_tree(const std::string& pattern);

}  // namespace longhaul::grammar
