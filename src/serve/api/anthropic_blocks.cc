#include "serve/api/anthropic_blocks.h"

#include <map>

#include "serve/api/api_error.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr std::string_view kBillingHeader = "x-anthropic-billing-header:";

bool has_mark(const Json& block) {
  const auto mark = block.find("cache_control");
  return mark != block.end() && mark->is_object();
}

/// Reads the messages one after the other.
class MessageReader {
 public:
  MessageReader(Conversation& conversation, const AnthropicOptions& options, AnthropicNotes& notes)
      : conversation_(conversation), options_(options), notes_(notes) {}

  void read(const Json& message, const std::string& where) {
    if (!message.is_object()) refuse_field(where, "is no object");
    const std::string& role = text_member(message, "role", where);
    if (!message.contains("content")) refuse_field(where + ".content", "is missing");
    const Json& content = message["content"];
    if (role == "assistant") {
      read_assistant(content, where + ".content");
    } else if (role == "user" || role == "system") {
      read_user(role, content, where + ".content");
    } else {
      refuse_field(where + ".role", "{} is neither user nor assistant", printable(role));
    }
  }

  /// Adds a message with the text of blocks and its cache marks.
  void add(const std::string& role, const BlockText& text) {
    if (text.empty()) return;
    for (const size_t bytes : text.marks()) {
      conversation_.marks.push_back({conversation_.messages.size(), bytes});
    }
    conversation_.messages.push_back({{"role", role}, {"content", text.text()}});
  }

 private:
  void read_user(const std::string& role, const Json& content, const std::string& where) {
    if (content.is_string()) {
      conversation_.messages.push_back({{"role", role}, {"content", content}});
      calls_.clear();
      return;
    }
    if (!content.is_array()) refuse_field(where, "is neither a text nor a list of blocks");
    BlockText text;
    for (size_t i = 0; i < content.size(); ++i) {
      const std::string block_where = fmt::format("{}[{}]", where, i);
      const Json& block = content[i];
      if (!block.is_object()) refuse_field(block_where, "is no object");
      if (block.value("type", Json()) == "tool_result") {
        add(role, std::exchange(text, {}));
        read_result(block, block_where);
        continue;
      }
      if (block.value("type", Json()) == "document") {
        QuestionDocument document;
        text.add(read_document_block(block, block_where, options_.find_file, document));
        document.number = static_cast<int>(notes_.documents.size());
        notes_.documents.push_back(std::move(document));
      } else {
        text.add(text_of_block(block, block_where));
      }
      if (has_mark(block)) text.mark();
    }
    add(role, text);
    calls_.clear();
  }

  void read_result(const Json& block, const std::string& where) {
    const std::string& id = text_member(block, "tool_use_id", where);
    const auto call = calls_.find(id);
    if (call == calls_.end()) {
      refuse_field(where + ".tool_use_id", "the message before has no tool_use with the id {}",
                   printable(id));
    }
    if (std::exchange(call->second.answered, true)) {
      refuse_field(where + ".tool_use_id", "is a second result for the call {}", printable(id));
    }
    BlockText text;
    const auto is_error = block.find("is_error");
    const bool given = is_error != block.end() && !is_error->is_null();
    if (given && !is_error->is_boolean()) refuse_field(where + ".is_error", "is not true or false");
    const auto content = block.find("content");
    const bool has_content = content != block.end() && !content->is_null();
    std::string result = has_content ? text_of_content(*content, where + ".content") : "";
    if (given && is_error->get<bool>()) result = "Error: " + result;
    text.add(result);
    if (has_mark(block)) {
      conversation_.marks.push_back({conversation_.messages.size(), result.size()});
    }
    conversation_.messages.push_back({{"role", "tool"},
                                      {"tool_call_id", id},
                                      {"name", call->second.name},
                                      {"content", std::move(result)}});
  }

  void read_assistant(const Json& content, const std::string& where) {
    calls_.clear();
    Json message = {{"role", "assistant"}};
    BlockText text;
    if (content.is_string()) {
      text.add(content.get<std::string>());
    } else if (content.is_array()) {
      for (size_t i = 0; i < content.size(); ++i) {
        read_assistant_block(content[i], fmt::format("{}[{}]", where, i), message, text);
      }
    } else {
      refuse_field(where, "is neither a text nor a list of blocks");
    }
    for (const size_t bytes : text.marks()) {
      conversation_.marks.push_back({conversation_.messages.size(), bytes});
    }
    message["content"] = text.text();
    conversation_.messages.push_back(std::move(message));
  }

  void read_assistant_block(const Json& block, const std::string& where, Json& message,
                            BlockText& text) {
    if (!block.is_object()) refuse_field(where, "is no object");
    const std::string& type = text_member(block, "type", where);
    if (type == "tool_use") {
      read_call(block, where, message);
    } else if (type == "thinking") {
      const std::string before = message.value("reasoning_content", "");
      message["reasoning_content"] = before + text_member(block, "thinking", where);
    } else if (type == "redacted_thinking" || type == "server_tool_use" ||
               type.ends_with("_tool_result")) {
      notes_.warnings.push_back(where + ": a block of the type " + one_line(type) + " is left out");
    } else {
      text.add(text_of_block(block, where));
    }
    if (has_mark(block)) text.mark();
  }

  void read_call(const Json& block, const std::string& where, Json& message) {
    const std::string& id = text_member(block, "id", where);
    const std::string& name = text_member(block, "name", where);
    const auto input = block.find("input");
    if (input == block.end() || !input->is_object()) {
      refuse_field(where + ".input", "is missing or no object");
    }
    if (!calls_.emplace(id, Call{name, false}).second) {
      refuse_field(where + ".id", "{} occurs twice", printable(id));
    }
    Json calls = Json::array({{{"id", id},
                               {"type", "function"},
                               {"function", {{"name", name}, {"arguments", *input}}}}});
    check_calls(calls, where);
    message["tool_calls"].push_back(std::move(calls[0]));
  }

  struct Call {
    std::string name;
    bool answered = false;
  };
  Conversation& conversation_;
  const AnthropicOptions& options_;
  AnthropicNotes& notes_;
  std::map<std::string, Call> calls_;  ///< tool calls in the previous message
};

void read_system(const Json& system, const AnthropicOptions& options, MessageReader& reader,
                 AnthropicNotes& notes) {
  BlockText text;
  if (system.is_string()) {
    text.add(system.get<std::string>());
  } else if (system.is_array()) {
    for (size_t i = 0; i < system.size(); ++i) {
      const std::string block = text_of_block(system[i], fmt::format("system[{}]", i));
      if (i == 0 && !options.keep_billing_header && block.starts_with(kBillingHeader)) {
        notes.dropped_billing_header = true;
        continue;
      }
      text.add(block);
      if (has_mark(system[i])) text.mark();
    }
  } else {
    refuse_field("system", "is neither a text nor a list of blocks");
  }
  reader.add("system", text);
}

void read_tool(Json& tool, const std::string& where, Conversation& conversation,
               AnthropicNotes& notes) {
  if (!tool.is_object()) refuse_field(where, "is no object");
  const Json type = tool.value("type", Json("custom"));
  if (!type.is_string()) refuse_field(where + ".type", "is no text");
  if (type != "custom") {
    notes.warnings.push_back(where + ": tools of the type " + one_line(type.get<std::string>()) +
                             " are left out, because this server runs none");
    return;
  }
  Json function = {{"name", text_member(tool, "name", where)}};
  if (tool.contains("description") && tool["description"].is_string()) {
    function["description"] = std::move(tool["description"]);
  }
  if (!tool.contains("input_schema")) refuse_field(where + ".input_schema", "is missing");
  function["parameters"] = std::move(tool["input_schema"]);
  Json& made = conversation.tools.emplace_back(Json{{"type", "function"}});
  made["function"] = std::move(function);
}

/// Returns whether a cache mark follows the tools.
bool read_tools(Json& tools, Conversation& conversation, AnthropicNotes& notes) {
  if (!tools.is_array()) refuse_field("tools", "is no list of tools");
  conversation.tools = Json::array();
  bool marked = false;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string where = fmt::format("tools[{}]", i);
    read_tool(tools[i], where, conversation, notes);
    marked |= has_mark(tools[i]);
  }
  check_tools(conversation.tools, "tools");
  return marked;
}

void read_anthropic_choice(const Json& choice, Conversation& conversation) {
  using Kind = ToolChoice::Kind;
  if (!choice.is_object()) refuse_field("tool_choice", "is no object");
  const std::string& type = text_member(choice, "type", "tool_choice");
  if (type == "none") {
    conversation.choice.kind = Kind::kNone;
  } else if (type == "any") {
    conversation.choice.kind = Kind::kRequired;
  } else if (type == "tool") {
    conversation.choice = {Kind::kFunction, text_member(choice, "name", "tool_choice")};
  } else if (type != "auto") {
    refuse_field("tool_choice.type", "{} is not auto, any, tool or none", printable(type));
  }
  const auto single = choice.find("disable_parallel_tool_use");
  if (single == choice.end() || single->is_null()) return;
  if (!single->is_boolean()) {
    refuse_field("tool_choice.disable_parallel_tool_use", "is not true or false");
  }
  conversation.parallel_calls = !single->get<bool>();
}

}  // namespace

std::vector<std::string_view> anthropic_conversation_members() {
  return {"system", "messages", "tools", "tool_choice"};
}

Conversation read_anthropic_conversation(Json& body, const AnthropicOptions& options,
                                         AnthropicNotes& notes) {
  Conversation conversation;
  MessageReader reader(conversation, options, notes);
  const auto given = [&](const char* name) {
    const auto found = body.find(name);
    return found == body.end() || found->is_null() ? nullptr : &*found;
  };
  if (const Json* system = given("system")) read_system(*system, options, reader, notes);
  Json* const tools = given("tools");
  if (tools != nullptr && read_tools(*tools, conversation, notes)) {
    conversation.marks.push_back({conversation.messages.size(), 0});
  }
  const Json* messages = given("messages");
  if (messages == nullptr) refuse_field("messages", "is missing");
  if (!messages->is_array() || messages->empty()) {
    refuse_field("messages", "is no list of messages");
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    reader.read((*messages)[i], fmt::format("messages[{}]", i));
  }
  if (const Json* choice = given("tool_choice")) read_anthropic_choice(*choice, conversation);
  check_choice(conversation);
  // A last message of the assistant is the beginning of the reply.
  const Json& last = conversation.messages.back();
  if (last["role"] == "assistant" && !last.contains("tool_calls")) {
    conversation.opening = content_of(last);
    conversation.messages.erase(conversation.messages.size() - 1);
  }
  return conversation;
}

}  // namespace longhaul::serve
