#pragma once
// Converts JSON to and from the text of requests and responses.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace longhaul::serve {

using Json = nlohmann::ordered_json;

/// Returns the JSON on one line. Invalid UTF-8 becomes U+FFFD.
std::string text_of(const Json& json);

/// Returns the JSON on one line with spaces after commas and colons. Python writes JSON in this
/// way, and so do most models.
std::string spaced_text_of(const Json& json);

/// Parses the body of a request, which must be an object. Only members in `known` are stored in the
/// result. Throws ApiError if the body is not JSON, nests deeper than 64 levels, has too many
/// values, has a number beyond the range of f64, or has a NUL in a string. The error names the path
/// of the invalid value.
Json read_body(std::string_view body, std::span<const std::string_view> known);

}  // namespace longhaul::serve
