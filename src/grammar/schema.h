#pragma once
// JSON Schema.

#include <string_view>

#include "grammar/syntax.h"

namespace longhaul::grammar {

/// The texts that a schema allows. Members come in the order of `properties`. An object with
/// `properties` and without `additionalProperties` has no further members. UserError if the schema
/// is malformed or refers outside of itself, and with the names of all keywords that are not
/// supported.
Expression read_json_schema(std::string_view schema, Syntax& syntax);

}  // namespace longhaul::grammar
