#pragma once
// Reads JSON Schema.

#include <string_view>

#include "grammar/syntax.h"

namespace longhaul::grammar {

/// Returns an expression for the JSON texts that a schema allows. In contrast to the standard, the
/// members of an object must be in the order of `properties`, and an object with `properties` but
/// without `additionalProperties` may have no other members. Throws UserError if the schema is
/// malformed, refers to another document, or has keywords that are not supported; the message names
/// all these keywords.
Expression read_json_schema(std::string_view schema, Syntax& syntax);

}  // namespace longhaul::grammar
