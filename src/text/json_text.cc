#include "text/json_text.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace longhaul {

nlohmann::json parse_json(std::string_view text, int deepest) {
  constexpr size_t kLargest = size_t{64} << 20;
  if (text.size() > kLargest) user_error("is too large for JSON: {} bytes", text.size());
  const auto check_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > deepest) user_error("is nested deeper than {}", deepest);
    return true;
  };
  try {
    return nlohmann::json::parse(text, check_depth);
  } catch (const nlohmann::json::parse_error& error) {
    user_error("is no JSON (byte {})", error.byte);
  } catch (const nlohmann::json::out_of_range&) {
    user_error("has a number beyond f64");
  }
}

nlohmann::json parse_json_object(std::string_view text, int deepest) {
  nlohmann::json object = parse_json(text, deepest);
  if (!object.is_object()) user_error("is no JSON object");
  return object;
}

}  // namespace longhaul
