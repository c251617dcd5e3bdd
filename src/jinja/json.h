#pragma once
// Conversion between JSON and values.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "jinja/value.h"

namespace longhaul::jinja {

/// All texts in the result have that origin. Fault if it is nested too deep.
Value from_json(const nlohmann::ordered_json& json, Origin origin = Origin::kGiven);

/// Options of json.dumps().
struct JsonStyle {
  bool ascii = false;
  bool sorted = false;
  std::optional<String> indent;  ///< indentation of one level; none: everything on one line
  std::optional<String> item_separator, key_separator;
};

/// Formats like Python's json.dumps(); texts keep their origin. Fault for values that JSON cannot
/// represent.
String to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace longhaul::jinja
