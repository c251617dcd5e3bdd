#include "serve/api/tool_texts.h"

#include "serve/api/conversation.h"

namespace longhaul::serve {
namespace {

constexpr std::string_view kIntroduction =
    "You can call the functions below. To call one, answer with nothing but one JSON object: "
    "{\"name\": NAME, \"arguments\": {...}}. The result comes in the next message. Each line "
    "describes a function; \"parameters\" is the JSON schema of its arguments.\n";

/// The arguments as one line of JSON.
std::string arguments_text(const Json& arguments) {
  return arguments.is_string() ? arguments.get<std::string>() : spaced_text_of(arguments);
}

}  // namespace

void describe_tools(Json& messages, const Json& tools) {
  std::string text(kIntroduction);
  for (const Json& tool : tools) text += text_of(tool["function"]) + "\n";
  if (!messages.empty() && messages[0]["role"] == "system") {
    messages[0]["content"] = content_of(messages[0]) + "\n\n" + text;
    return;
  }
  messages.insert(messages.begin(), Json{{"role", "system"}, {"content", text}});
}

void write_calls_as_texts(Json& messages) {
  for (Json& message : messages) {
    if (const auto calls = message.find("tool_calls"); calls != message.end()) {
      std::string text = content_of(message);
      for (const Json& call : *calls) {
        if (!text.empty()) text += "\n";
        text += "{\"name\": " + text_of(call["function"]["name"]) +
                ", \"arguments\": " + arguments_text(call["function"]["arguments"]) + "}";
      }
      message["content"] = text;
      message.erase("tool_calls");
    }
    if (message["role"] != "tool") continue;
    const Json name = message.value("name", Json());
    const std::string of = name.is_string() ? " of " + name.get<std::string>() : "";
    message = {{"role", "user"}, {"content", "Result" + of + ":\n" + content_of(message)}};
  }
}

}  // namespace longhaul::serve
