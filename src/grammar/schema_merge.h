#pragma once
// Replaces references ($ref) and allOf in schemas by their contents, so that a schema is a single
// object.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longhaul::grammar {

using Schema = nlohmann::ordered_json;

/// Returns the schema to which a reference such as "#/$defs/node" refers within the document
/// `root`. Throws UserError if there is none, or if the reference refers to another document.
const Schema& referred_schema(const Schema& root, const std::string& reference);

/// Returns whether a keyword only describes the schema, such as "title", and restricts no values.
bool is_annotation(std::string_view keyword);

/// Returns an equivalent schema without `$ref` and `allOf` at its top level. It is true, false, or
/// an object. Throws UserError if keywords cannot be combined or if references are circular.
Schema flattened(const Schema& root, const Schema& schema);

/// Returns a schema that allows the values that both schemas allow.
Schema merged(const Schema& a, const Schema& b);

}  // namespace longhaul::grammar
