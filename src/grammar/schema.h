#pragma once
// Reads JSON Schema.

#include <string_view>

#include "grammar/syntax.h"

namespace longhaul::grammar {

/// Returns an expression for the texts that a schema allows. Members come in the order of
/// `properties`. An object with `properties` and without `additionalProperties` has no further
/// members. Throws UserError if the schema is malformed or refers to another document, and for
/// keywords that are not supported, all of which are named.
Expression read_json_schema(std::string_view schema, Syntax& syntax);

}  // namespace longhaul::grammar
