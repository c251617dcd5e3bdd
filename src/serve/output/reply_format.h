#pragma once
// Describes how a model writes tool calls and reasoning.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {
class ChatTemplate;
}

namespace longhaul::serve {

enum class CallFamily : uint8_t {
  kNone,       ///< the reply is text, possibly with reasoning
  kHermes,     ///< <tool_call>{"name": ..., "arguments": ...}</tool_call>: Hermes, Qwen
  kQwenCoder,  ///< <tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>
  kLlama,      ///< {"name": ..., "parameters": ...}, possibly after <|python_tag|>
  kMistral,    ///< [TOOL_CALLS][{...}], or [TOOL_CALLS]NAME[ARGS]{...}
  kChannels,   ///< gpt-oss: <|channel|>commentary to=functions.NAME<|message|>{...}
  kBareJson,   ///< a JSON object that has the name of an offered function, without marks around it
};
std::string_view name_of(CallFamily family);

struct ReplyFormat {
  CallFamily family = CallFamily::kNone;
  /// Marks around the reasoning; empty: none.
  std::string reasoning_open = "<think>", reasoning_close = "</think>";
  bool begins_in_reasoning = false;  ///< whether the prompt already ends with reasoning_open
  bool offers_tools = false;         ///< whether the chat template renders the definitions of tools
  /// Whether the chat template expects arguments as a string and not as an object.
  bool arguments_as_text = false;
  /// Returns whether the marks of calls are control tokens. If so, the text that ReplyParser reads
  /// must include the texts of control tokens.
  bool needs_control_texts() const {
    return family == CallFamily::kChannels || family == CallFamily::kMistral ||
           family == CallFamily::kLlama;
  }
};

/// Determines the format of the replies of a model from its chat template. To do so, renders a
/// conversation that contains a call, and examines the text around the call.
ReplyFormat find_reply_format(const ChatTemplate& chat_template);

/// The functions that a request offers to the model. A JSON object without marks is a call only if
/// it has the name of one of these functions. In calls with tags (kQwenCoder), the type of a
/// parameter determines whether its value is a string or JSON.
class OfferedTools {
 public:
  OfferedTools() = default;
  /// Reads a list of tools in the format of OpenAI's API. Entries in another format are ignored.
  explicit OfferedTools(const nlohmann::ordered_json& tools);

  bool empty() const { return text_parameters_.empty(); }
  bool has(std::string_view name) const;
  /// Returns whether the value of this parameter is a string. Also returns true if its type is
  /// unknown.
  bool is_text(std::string_view name, std::string_view parameter) const;

 private:
  std::map<std::string, std::map<std::string, bool, std::less<>>, std::less<>> text_parameters_;
};

}  // namespace longhaul::serve
