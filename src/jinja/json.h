#pragma once
// JSON into values and values into JSON.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "jinja/value.h"

namespace longhaul::jinja {

/// Every text in it is of that origin. Fault where it is nested too deep.
Value from_json(const nlohmann::ordered_json& json, Origin origin = Origin::kGiven);

/// What json.dumps() takes.
struct JsonStyle {
  bool ascii = false;
  bool sorted = false;
  std::optional<String> indent;  ///< of one level; none: everything on one line
  std::optional<String> item_separator, key_separator;
};

/// As Python's json.dumps() writes it; texts keep their origin. Fault for what JSON cannot hold.
String to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace longhaul::jinja
