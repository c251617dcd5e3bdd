#pragma once
// A conversation in the format of chat APIs, as input of ChatTemplate::segments().

#include <nlohmann/json.hpp>

namespace longhaul {

/// Its texts count as data: none of them becomes a control token. The only exceptions are known
/// names of roles.
struct ChatRequest {
  /// A list of objects with "role", "content" (a string, a list of parts, or null), "tool_calls"
  /// and so on.
  nlohmann::ordered_json messages;
  nlohmann::ordered_json tools;      ///< functions as JSON schemas; null: none
  nlohmann::ordered_json documents;  ///< objects such as {"title", "text"}; null: none
  /// Further variables of the template, such as {"enable_thinking": false}. Null: none.
  nlohmann::ordered_json variables;
  bool add_generation_prompt = true;
};

}  // namespace longhaul
