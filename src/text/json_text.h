#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace longhaul {

enum class JsonKeys : uint8_t {
  kLastCounts,  ///< of two values for a key in one object
  kOnce,        ///< a key that stands twice in an object is a UserError
};

/// UserError, without a place in it, where brackets nest deeper than `deepest` or there are more
/// than 8 million values: of "[[],[]," each two bytes take 40 in memory. Real tokenizers have up to
/// 2 million. What is no JSON passes or not; parsing tells.
void check_json_shape(std::string_view text, int deepest);

/// Parses JSON from anywhere. UserError, without a place in it: is no JSON (byte), is nested deeper
/// than `deepest`, has a number beyond f64, is larger than 64 MiB or has too many values (above).
nlohmann::json parse_json(std::string_view text, int deepest,
                          JsonKeys keys = JsonKeys::kLastCounts);
/// The same; also UserError when the top is no object.
nlohmann::json parse_json_object(std::string_view text, int deepest,
                                 JsonKeys keys = JsonKeys::kLastCounts);

}  // namespace longhaul
