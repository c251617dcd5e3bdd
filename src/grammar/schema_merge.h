#pragma once
// Converts a schema to a single object: references and allOf are replaced by their contents.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longhaul::grammar {

using Schema = nlohmann::ordered_json;

/// Returns the schema at a reference such as "#/$defs/node". Throws UserError if there is none, or
/// if the reference leads to another document.
const Schema& referred_schema(const Schema& root, const std::string& reference);

/// Returns whether a keyword is only a description.
bool is_annotation(std::string_view keyword);

/// Returns the schema without `$ref` and `allOf`. It is true, false, or an object. Throws UserError
/// for keywords that cannot be combined, and for circular references.
Schema flattened(const Schema& root, const Schema& schema);

/// Returns a schema that allows the values that both schemas allow.
Schema merged(const Schema& a, const Schema& b);

}  // namespace longhaul::grammar
