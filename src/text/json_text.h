#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace longhaul {

enum class JsonKeys : uint8_t {
  kLastCounts,  ///< the last value of a repeated key is used
  kOnce,        ///< a repeated key in an object throws UserError
};

/// Throws UserError, without a location, if brackets nest deeper than `deepest` or if there are
/// more than 8 million values. The number is limited because in "[[],[]," every two bytes need 40
/// bytes in memory. Real tokenizers have up to 2 million values. Invalid JSON may pass and is
/// detected by parsing.
void check_json_shape(std::string_view text, int deepest);

/// Parses untrusted JSON. Throws UserError, without a location, if the text is not JSON (with the
/// offset of the byte), is nested deeper than `deepest`, has a number beyond f64, is larger than 64
/// MiB, or has too many values (check_json_shape()).
nlohmann::json parse_json(std::string_view text, int deepest,
                          JsonKeys keys = JsonKeys::kLastCounts);
/// Like parse_json(), but also throws UserError if the top level is not an object.
nlohmann::json parse_json_object(std::string_view text, int deepest,
                                 JsonKeys keys = JsonKeys::kLastCounts);

}  // namespace longhaul
