#include "text/json_text.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::json;

/// The keys of the currently open objects, for finding duplicates.
class OpenObjects {
 public:
  void see(json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event != json::parse_event_t::key) return;
    const auto& key = value.get_ref<const std::string&>();
    if (!keys_.back().insert(key).second) user_error("key {} is given twice", printable(key));
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

void check_json_shape(std::string_view text, int deepest) {
  constexpr size_t kMostValues = 8'000'000;
  size_t values = 1;
  int depth = 0;
  bool in_text = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') in_text = !in_text;
    if (in_text) {
      at += c == '\\' ? 1 : 0;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > deepest) user_error("is nested deeper than {}", deepest);
    values += c == '[' || c == '{' || c == ',' ? 1 : 0;
  }
  if (values > kMostValues) user_error("has {} values; at most {} are read", values, kMostValues);
}

json parse_json(std::string_view text, int deepest, JsonKeys keys) {
  constexpr size_t kLargest = size_t{64} << 20;
  if (text.size() > kLargest) {
    user_error("is too large for JSON: {} bytes; at most {} are read", text.size(), kLargest);
  }
  check_json_shape(text, deepest);
  OpenObjects objects;
  json::parser_callback_t check;
  if (keys == JsonKeys::kOnce) {
    check = [&](int, json::parse_event_t event, const json& value) {
      objects.see(event, value);
      return true;
    };
  }
  try {
    return json::parse(text, check);
  } catch (const json::parse_error& error) {
    user_error("is no JSON (byte {})", error.byte);
  } catch (const json::out_of_range&) {
    user_error("has a number beyond f64");
  }
}

json parse_json_object(std::string_view text, int deepest, JsonKeys keys) {
  json object = parse_json(text, deepest, keys);
  if (!object.is_object()) user_error("is no JSON object");
  return object;
}

}  // namespace longhaul
