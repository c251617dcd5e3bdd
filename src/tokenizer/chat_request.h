#pragma once
// Defines ChatRequest, a conversation in the format of chat APIs. ChatTemplate::segments() renders
// it.

#include <nlohmann/json.hpp>

namespace longhaul {

/// The texts in a ChatRequest never become control tokens. The only exceptions are known names of
/// roles, such as "user".
struct ChatRequest {
  /// A list of objects with "role", "content" (a string, a list of parts, or null), "tool_calls"
  /// and so on.
  nlohmann::ordered_json messages;
  nlohmann::ordered_json tools;      ///< functions as JSON schemas; null: none
  nlohmann::ordered_json documents;  ///< objects such as {"title", "text"}; null: none
  /// Further variables that the template can use, such as {"enable_thinking": false}. Null: none.
  nlohmann::ordered_json variables;
  bool add_generation_prompt = true;
};

}  // namespace longhaul
