#include "serve/api/conversation.h"

#include <set>

#include "serve/api/api_error.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostTools = 512, kMostSchemaBytes = 256 << 10, kLongestToolName = 128;

bool is_tool_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestToolName) return false;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && std::string_view("_-.:/").find(c) == std::string_view::npos) return false;
  }
  return true;
}

/// The name of the function that a tool or a call has under "function".
const std::string& function_name(const Json& owner, const std::string& where) {
  const auto function = owner.find("function");
  if (function == owner.end() || !function->is_object()) {
    refuse_field(where + ".function", "is missing or no object");
  }
  const auto name = function->find("name");
  if (name == function->end() || !name->is_string()) {
    refuse_field(where + ".function.name", "is missing or no text");
  }
  const auto& text = name->get_ref<const std::string&>();
  if (!is_tool_name(text)) {
    refuse_field(where + ".function.name",
                 "{} is no name of 1 to {} letters, digits, and characters of _-.:/",
                 printable(text), kLongestToolName);
  }
  return text;
}

/// Bytes of a schema as text, counted without writing it.
size_t schema_bytes(const Json& value) {
  size_t bytes = 2;
  if (value.is_string()) return bytes + value.get_ref<const std::string&>().size();
  if (!value.is_structured()) return 4;
  for (const auto& [key, child] : value.items()) {
    bytes += schema_bytes(child) + (value.is_object() ? key.size() + 4 : 1);
  }
  return bytes;
}

}  // namespace

std::string content_of(const Json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_string() ? content->get<std::string>() : "";
}

void check_tools(const Json& tools, const std::string& name) {
  if (!tools.is_array()) refuse_field(name, "is no list of tools");
  if (tools.size() > kMostTools) {
    refuse_field(name, "{} tools; at most {}", tools.size(), kMostTools);
  }
  std::set<std::string> names;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string where = fmt::format("{}[{}]", name, i);
    const Json& tool = tools[i];
    if (!tool.is_object()) refuse_field(where, "is no object");
    if (const Json type = tool.value("type", Json("function")); type != "function") {
      refuse_field(where + ".type", "is no function, and this server runs no tools of its own");
    }
    const std::string& function = function_name(tool, where);
    if (!names.insert(function).second) {
      refuse_field(where + ".function.name", "{} occurs twice", printable(function));
    }
    const auto schema = tool["function"].find("parameters");
    if (schema == tool["function"].end() || schema->is_null()) continue;
    if (!schema->is_object()) refuse_field(where + ".function.parameters", "is no object");
    if (schema_bytes(*schema) > kMostSchemaBytes) {
      refuse_field(where + ".function.parameters", "is larger than {} KiB", kMostSchemaBytes >> 10);
    }
  }
}

void check_choice(const Conversation& conversation) {
  const ToolChoice& choice = conversation.choice;
  if (!choice.demands_call()) return;
  if (!conversation.tools.is_array() || conversation.tools.empty()) {
    refuse_field("tool_choice", "demands a call, and there are no tools");
  }
  if (choice.kind != ToolChoice::Kind::kFunction) return;
  for (const Json& tool : conversation.tools) {
    if (tool["function"]["name"] == choice.function) return;
  }
  refuse_field("tool_choice", "no tool is named {}", printable(choice.function));
}

void check_calls(Json& calls, const std::string& name) {
  if (!calls.is_array()) refuse_field(name, "is no list of calls");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string where = fmt::format("{}[{}]", name, i);
    if (!calls[i].is_object()) refuse_field(where, "is no object");
    function_name(calls[i], where);
    Json& arguments = calls[i]["function"]["arguments"];
    if (arguments.is_null() || arguments == "") arguments = "{}";
    const bool is_json =
        arguments.is_object() ||
        (arguments.is_string() && Json::accept(arguments.get_ref<const std::string&>()));
    if (!is_json) refuse_field(where + ".function.arguments", "are not JSON");
    if (const auto id = calls[i].find("id");
        id != calls[i].end() && !id->is_string() && !id->is_null()) {
      refuse_field(where + ".id", "is no text");
    }
  }
}

}  // namespace longhaul::serve
