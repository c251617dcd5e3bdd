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
  kBareJson,   ///< a JSON object with the name of a function
};
std::string_view name_of(CallFamily family);

struct ReplyFormat {
  CallFamily family = CallFamily::kNone;
  std::string reasoning_open = "<think>", reasoning_close = "</think>";  ///< may be empty
  bool begins_in_reasoning = false;  ///< whether the prompt already contains the opening mark
  bool offers_tools = false;         ///< whether the chat template writes the definitions of tools
  /// Whether the chat template expects arguments as a string and not as an object.
  bool arguments_as_text = false;
  /// Returns whether marks are control tokens. If so, the reply's text must include the texts of
  /// control tokens.
  bool needs_control_texts() const {
    return family == CallFamily::kChannels || family == CallFamily::kMistral ||
           family == CallFamily::kLlama;
  }
};

/// Determines the format of a chat template. The function renders a conversation with a call and
/// examines the text around the call.
ReplyFormat find_reply_format(const ChatTemplate& chat_template);

/// The functions that a request offers. Their names determine whether a bare JSON object is a call.
/// The types of their parameters determine whether a tagged value is a string.
class OfferedTools {
 public:
  OfferedTools() = default;
  /// Reads a list of tools in the format of OpenAI's API. Entries in another format are ignored.
  explicit OfferedTools(const nlohmann::ordered_json& tools);

  bool empty() const { return text_parameters_.empty(); }
  bool has(std::string_view name) const;
  /// Returns whether the parameter is a string or has an unknown type.
  bool is_text(std::string_view name, std::string_view parameter) const;

 private:
  std::map<std::string, std::map<std::string, bool, std::less<>>, std::less<>> text_parameters_;
};

}  // namespace longhaul::serve
