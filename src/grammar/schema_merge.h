#pragma once
// Schemas as one object each: references and allOf are replaced by their contents.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longhaul::grammar {

using Schema = nlohmann::ordered_json;

/// The schema at a reference such as "#/$defs/node". UserError if there is none, or if it leads
/// outside.
const Schema& referred_schema(const Schema& root, const std::string& reference);

/// Whether a keyword only describes.
bool is_annotation(std::string_view keyword);

/// The schema without `$ref` and `allOf`: true, false, or an object. UserError for keywords that
/// cannot be combined, and for references in a circle.
Schema flattened(const Schema& root, const Schema& schema);

/// A schema that both allow.
Schema merged(const Schema& a, const Schema& b);

}  // namespace longhaul::grammar
