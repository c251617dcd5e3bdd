#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace longhaul {

enum class JsonKeys : uint8_t {
  kLastCounts,  ///< the last value of a repeated key is used
  kOnce,        ///< a repeated key in an object throws UserError
};

/// Checks JSON before it is parsed. Throws a UserError, which does not name a file, if brackets
/// nest deeper than `deepest` levels or if there are more than 8 million values. The number of
/// values is limited because a short text such as "[[],[]," can need 20 times its size in memory.
/// The files of real tokenizers have up to 2 million values. Invalid JSON is not detected here, but
/// by the parser.
void check_json_shape(std::string_view text, int deepest);

/// Parses untrusted JSON. Throws a UserError, which does not name a file, if the text is not JSON,
/// is nested deeper than `deepest` levels, has a number beyond the range of f64, is larger than 64
/// MiB, or has too many values (check_json_shape()). The message about invalid JSON has the byte
/// offset of the error.
nlohmann::json parse_json(std::string_view text, int deepest,
                          JsonKeys keys = JsonKeys::kLastCounts);
/// Like parse_json(), but also throws UserError if the top level is not an object.
nlohmann::json parse_json_object(std::string_view text, int deepest,
                                 JsonKeys keys = JsonKeys::kLastCounts);

}  // namespace longhaul
