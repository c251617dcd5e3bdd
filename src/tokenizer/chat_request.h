#pragma once
// A conversation in the format of chat APIs, for ChatTemplate::segments().

#include <nlohmann/json.hpp>

namespace longhaul {

/// Texts in it count as arguments: none becomes a control token, except the known names of roles.
struct ChatRequest {
  /// A list of objects: "role", "content" (a text, a list of parts, or null), "tool_calls", ...
  nlohmann::ordered_json messages;
  nlohmann::ordered_json tools;      ///< functions as JSON schemas; null: none
  nlohmann::ordered_json documents;  ///< objects such as {"title", "text"}; null: none
  /// Further variables of the template, such as {"enable_thinking": false}; null: none.
  nlohmann::ordered_json variables;
  bool add_generation_prompt = true;
};

}  // namespace longhaul
