// Prompts of requests: conversations, texts, token ids.

#include "base/error.h"
#include "engine/prompt_tokens.h"
#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"
#include "serve/api/request.h"
#include "tokenizer/chat_request.h"

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

/// Checks messages and returns the last user's text.
std::string check_messages(Json& messages) {
  if (!messages.is_array() || messages.empty()) refuse_field("messages", "is no list of messages");
  std::string question;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string name = fmt::format("messages[{}]", i);
    Json& message = messages[i];
    if (!message.is_object()) refuse_field(name, "is no object");
    const auto role = message.find("role");
    if (role == message.end() || !role->is_string()) refuse_field(name + ".role", "is no text");
    if (*role == "developer") *role = "system";
    auto content = message.find("content");
    if (content == message.end()) {
      if (!message.contains("tool_calls")) refuse_field(name + ".content", "is missing");
      message["content"] = nullptr;
      continue;
    }
    if (content->is_array()) {
      check_parts(*content, name + ".content");
      *content = joined(*content);
    }
    const bool empty_call = content->is_null() && message.contains("tool_calls");
    if (!content->is_string() && !empty_call) {
      refuse_field(name + ".content", "is neither a text nor a list of parts");
    }
    if (*role == "user") question = content->get<std::string>();
  }
  return question;
}

}  // namespace

std::vector<std::string_view> chat_members() {
  return {"messages", "tools", "tool_choice", "chat_template_kwargs", "add_generation_prompt"};
}

ChatTokens chat_tokens(const ServedModel& model, const Json& body) {
  if (!model.chat) {
    throw ApiError(400, "invalid_request_error", "no_chat_template", model.chat_problem);
  }
  const FieldReader fields(body);
  if (!fields.has("messages")) refuse_field("messages", "is missing");
  ChatRequest chat;
  chat.messages = body["messages"];
  const std::string question = check_messages(chat.messages);
  const Json* choice = fields.find("tool_choice");
  if (const Json* tools = fields.find("tools");
      tools != nullptr && !(choice != nullptr && *choice == "none")) {
    if (!tools->is_array() || tools->size() > 512) refuse_field("tools", "is no list of tools");
    if (!tools->empty()) chat.tools = *tools;
  }
  if (const Json* variables = fields.find("chat_template_kwargs")) {
    if (!variables->is_object()) refuse_field("chat_template_kwargs", "is no object");
    chat.variables = *variables;
  }
  chat.add_generation_prompt = fields.boolean("add_generation_prompt").value_or(true);
  ChatTokens result;
  try {
    const PromptText prompt{model.chat->segments(chat), false};
    const PromptTokens made = prompt_tokens(model.engine->tokenizer(), prompt, question);
    result.tokens = made.tokens;
    result.instruction = made.instruction;
    result.text = prompt.text();
  } catch (const UserError& error) {
    refuse_field("messages", "{}", error.what());
  }
  return result;
}

std::vector<int32_t> prompt_of(const ServedModel& model, const Json& value, const std::string& name,
                               bool add_special) {
  const Tokenizer& tokenizer = model.engine->tokenizer();
  std::vector<int32_t> tokens;
  const auto add_text = [&](const Json& text, bool first) {
    const std::vector<int32_t> more =
        tokenizer.encode(text.get_ref<const std::string&>(),
                         {.add_special = add_special && first, .parse_special = true});
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  if (value.is_string()) {
    add_text(value, true);
  } else if (value.is_array()) {
    const int64_t last = model.engine->model().config.vocab - 1;
    for (size_t i = 0; i < value.size(); ++i) {
      const Json& part = value[i];
      if (part.is_string()) {
        add_text(part, i == 0);
      } else {
        tokens.push_back(
            static_cast<int32_t>(integer_of(part, fmt::format("{}[{}]", name, i), 0, last)));
      }
    }
  } else {
    refuse_field(name, "is neither a text nor a list of token ids");
  }
  if (tokens.empty()) refuse_field(name, "is empty");
  return tokens;
}

}  // namespace longhaul::serve
