#pragma once
// JSON from clients and to clients.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace longhaul::serve {

using Json = nlohmann::ordered_json;

/// One line; broken UTF-8 becomes U+FFFD.
std::string text_of(const Json& json);

/// One line with blanks after commas and colons, as Python writes JSON, and so most models.
std::string spaced_text_of(const Json& json);

/// The body of a request: an object, of whose members only those in `known` are built. Throws
/// ApiError, with the path of the value, for what is no JSON, nests deeper than 64, has too many
/// values, a number beyond f64, or a NUL in a text.
Json read_body(std::string_view body, std::span<const std::string_view> known);

}  // namespace longhaul::serve
