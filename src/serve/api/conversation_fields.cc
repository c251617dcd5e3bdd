// Conversations in the bodies of OpenAI's Chat API.

#include <map>

#include "serve/api/api_error.h"
#include "serve/api/conversation.h"
#include "serve/api/field_reader.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

/// Parts of a message: only texts can be read.
void check_parts(const Json& parts, const std::string& name) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part = fmt::format("{}[{}]", name, i);
    if (!parts[i].is_object()) refuse_field(part, "is no object");
    const Json type = parts[i].value("type", Json("text"));
    if (!type.is_string() || (type != "text" && type != "input_text")) {
      refuse_field(part + ".type", "this model reads text only");
    }
    const auto text = parts[i].find("text");
    if (text == parts[i].end() || !text->is_string()) refuse_field(part + ".text", "is no text");
  }
}

/// Parts joined to one text: few templates know parts.
std::string joined(const Json& parts) {
  std::string text;
  for (const Json& part : parts) {
    if (!text.empty()) text += "\n";
    text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

void check_message(Json& message, const std::string& name) {
  if (!message.is_object()) refuse_field(name, "is no object");
  const auto role = message.find("role");
  if (role == message.end() || !role->is_string()) refuse_field(name + ".role", "is no text");
  if (*role == "developer") *role = "system";
  auto calls = message.find("tool_calls");
  if (calls != message.end() && (calls->is_null() || (calls->is_array() && calls->empty()))) {
    message.erase("tool_calls");
    calls = message.end();
  }
  const bool calls_tools = calls != message.end();
  if (calls_tools) check_calls(*calls, name + ".tool_calls");
  // vLLM's name of the member, in the replies of some servers.
  if (!message.contains("reasoning_content") && message.contains("reasoning") &&
      message["reasoning"].is_string()) {
    message["reasoning_content"] = message["reasoning"];
  }
  if (!message.contains("content")) {
    if (!calls_tools) refuse_field(name + ".content", "is missing");
    message["content"] = nullptr;
    return;
  }
  Json& content = message["content"];
  if (content.is_array()) {
    check_parts(content, name + ".content");
    content = joined(content);
  }
  if (!content.is_string() && !(content.is_null() && calls_tools)) {
    refuse_field(name + ".content", "is neither a text nor a list of parts");
  }
}

/// Some templates print the name of the function before its result.
void name_results(Json& messages) {
  std::map<std::string, Json> names;
  for (size_t i = 0; i < messages.size(); ++i) {
    Json& message = messages[i];
    for (const Json& call : message.value("tool_calls", Json::array())) {
      if (call.contains("id") && call["id"].is_string()) {
        names[call["id"].get<std::string>()] = call["function"]["name"];
      }
    }
    const auto id = message.find("tool_call_id");
    if (id == message.end()) continue;
    if (!id->is_string()) refuse_field(fmt::format("messages[{}].tool_call_id", i), "is no text");
    const auto known = names.find(id->get<std::string>());
    if (!message.contains("name") && known != names.end()) message["name"] = known->second;
  }
}

ToolChoice read_choice(const Json& value) {
  using Kind = ToolChoice::Kind;
  if (value == "auto") return {Kind::kAuto, ""};
  if (value == "none") return {Kind::kNone, ""};
  if (value == "required" || value == "any") return {Kind::kRequired, ""};
  if (value.is_object() && value.value("type", Json()) == "function") {
    // As in Chat, or as in Responses.
    const Json& holder = value.contains("function") ? value["function"] : value;
    if (holder.is_object() && holder.contains("name") && holder["name"].is_string()) {
      return {Kind::kFunction, holder["name"].get<std::string>()};
    }
  }
  refuse_field("tool_choice", "is not \"auto\", \"none\", \"required\", or a function");
}

void read_reasoning(const FieldReader& fields, Conversation& conversation) {
  if (const auto effort = fields.text("reasoning_effort")) {
    if (*effort == "none") {
      conversation.thinking = false;
    } else if (*effort == "minimal" || *effort == "low") {
      conversation.effort = "low";
    } else if (*effort == "medium" || *effort == "high") {
      conversation.effort = *effort;
    } else if (*effort == "xhigh") {
      conversation.effort = "high";
    } else {
      refuse_field("reasoning_effort", "{} is not none, minimal, low, medium, high or xhigh",
                   printable(*effort));
    }
  }
  fields.integer("thinking_budget_tokens", -1, int64_t{1} << 31, conversation.thinking_budget);
  const std::string shown = fields.text("reasoning_format").value_or("auto");
  if (shown != "auto" && shown != "none" && shown != "deepseek") {
    refuse_field("reasoning_format", "{} is not auto, deepseek or none", printable(shown));
  }
  conversation.shows_reasoning = shown != "none";
}

}  // namespace

std::vector<std::string_view> conversation_members() {
  return {"messages",
          "tools",
          "tool_choice",
          "parallel_tool_calls",
          "reasoning_effort",
          "reasoning_format",
          "functions",
          "chat_template_kwargs",
          "add_generation_prompt",
          "continue_final_message",
          "thinking_budget_tokens"};
}

Conversation read_conversation(const Json& body) {
  const FieldReader fields(body);
  Conversation conversation;
  if (!fields.has("messages")) refuse_field("messages", "is missing");
  conversation.messages = body["messages"];
  Json& messages = conversation.messages;
  if (!messages.is_array() || messages.empty()) refuse_field("messages", "is no list of messages");
  for (size_t i = 0; i < messages.size(); ++i) {
    check_message(messages[i], fmt::format("messages[{}]", i));
  }
  name_results(messages);
  if (fields.has("functions")) refuse_field("functions", "is out of date; send tools");
  if (const Json* tools = fields.find("tools")) {
    check_tools(*tools, "tools");
    if (!tools->empty()) conversation.tools = *tools;
  }
  if (const Json* choice = fields.find("tool_choice")) conversation.choice = read_choice(*choice);
  check_choice(conversation);
  conversation.parallel_calls = fields.boolean("parallel_tool_calls").value_or(true);
  read_reasoning(fields, conversation);
  if (const Json* variables = fields.find("chat_template_kwargs")) {
    if (!variables->is_object()) refuse_field("chat_template_kwargs", "is no object");
    conversation.variables = *variables;
  }
  conversation.add_generation_prompt = fields.boolean("add_generation_prompt").value_or(true);
  // vLLM's field for the rule that always holds: a last message of the assistant goes on.
  if (fields.boolean("continue_final_message").value_or(false) &&
      fields.boolean("add_generation_prompt").value_or(false)) {
    refuse_field("continue_final_message", "and add_generation_prompt exclude each other");
  }
  return conversation;
}

}  // namespace longhaul::serve
