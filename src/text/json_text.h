#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace longhaul {

enum class JsonKeys : uint8_t {
  kLastCounts,  ///< the last value of a repeated key counts
  kOnce,        ///< a repeated key in an object is a UserError
};

/// Throws UserError, without a location, if brackets nest deeper than `deepest` or there are more
/// than 8 million values, because in "[[],[]," every two bytes need 40 in memory. Real tokenizers
/// have up to 2 million values. Invalid JSON may pass; parsing detects it.
void check_json_shape(std::string_view text, int deepest);

/// Parses untrusted JSON. Throws UserError, without a location, if it is not JSON (with the byte),
/// is nested deeper than `deepest`, has a number beyond f64, is larger than 64 MiB or has too many
/// values (see above).
nlohmann::json parse_json(std::string_view text, int deepest,
                          JsonKeys keys = JsonKeys::kLastCounts);
/// Variant that also throws UserError if the top level is not an object.
nlohmann::json parse_json_object(std::string_view text, int deepest,
                                 JsonKeys keys = JsonKeys::kLastCounts);

}  // namespace longhaul
