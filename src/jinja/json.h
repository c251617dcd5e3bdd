#pragma once
// Converts JSON to values of a template, and values to JSON text.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "jinja/value.h"

namespace longhaul::jinja {

/// Converts JSON to a value. All its strings get the given origin. Throws Fault if the JSON is
/// nested too deep.
Value from_json(const nlohmann::ordered_json& json, Origin origin = Origin::kGiven);

/// The options of Python's json.dumps().
struct JsonStyle {
  bool ascii = false;
  bool sorted = false;
  std::optional<String> indent;  ///< indentation per level; empty: everything is on one line
  std::optional<String> item_separator, key_separator;
};

/// Formats a value as Python's json.dumps() does. Strings keep their origin. Throws Fault for
/// values that JSON cannot represent.
String to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace longhaul::jinja
