#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace longhaul {

/// Parses JSON from anywhere. UserError, without a place in it: is no JSON (byte), is nested deeper
/// than `deepest`, has a number beyond f64, is larger than 64 MiB (a value takes many times its
/// text in memory).
nlohmann::json parse_json(std::string_view text, int deepest);
/// The same; also UserError when the top is no object.
nlohmann::json parse_json_object(std::string_view text, int deepest);

}  // namespace longhaul
