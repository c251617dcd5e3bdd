#include "tokenizer/chat_template.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "jinja/clock.h"
#include "jinja/json.h"
#include "text/printable.h"
#include "tokenizer/chat_request.h"

namespace longhaul {

namespace {

using jinja::Kind;
using jinja::Origin;
using jinja::Value;

std::string_view name_of(ChatRole role) {
  return role == ChatRole::system ? "system" : role == ChatRole::user ? "user" : "assistant";
}

/// Some templates build control tokens from roles: '<|' + message.role + '|>'.
bool is_known_role(std::string_view role) {
  constexpr std::array<std::string_view, 9> kRoles = {"system",  "user",      "assistant",
                                                      "tool",    "developer", "function",
                                                      "ipython", "model",     "document"};
  return std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
}

Value value_of(const ChatMessage& message) {
  return Value::dict({{Value::text("role"), Value::text(name_of(message.role))},
                      {Value::text("content"), Value::text(message.content, Origin::kGiven)}});
}

Value value_of(const nlohmann::ordered_json& message, size_t number) {
  const bool has_role =
      message.is_object() && message.contains("role") && message["role"].is_string();
  if (!has_role) user_error("chat: message {} is no object with a role", number);
  jinja::Pairs items;
  for (const auto& [key, field] : message.items()) {
    const bool own = key == "role" && is_known_role(field.get_ref<const std::string&>());
    // Templates look up the keys; users write the contents.
    items.emplace_back(Value::text(key, Origin::kGiven),
                       jinja::from_json(field, own ? Origin::kTemplate : Origin::kGiven));
  }
  return Value::dict(std::move(items));
}

std::vector<TextSegment> segments_of(const jinja::String& text) {
  std::vector<TextSegment> segments;
  size_t begin = 0;
  for (const jinja::String::Run& run : text.runs()) {
    segments.push_back({std::string(text.bytes().substr(begin, run.end - begin)),
                        run.origin == Origin::kTemplate});
    begin = run.end;
  }
  return segments;
}

size_t bytes_of(std::span<const ChatMessage> messages) {
  size_t bytes = 0;
  for (const ChatMessage& message : messages) bytes += message.content.size();
  return bytes;
}

/// Number of equal bytes at the end of both.
size_t common_end(std::string_view a, std::string_view b) {
  const auto [end, ignored] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<size_t>(end - a.rbegin());
}

}  // namespace

ChatTemplate::ChatTemplate(jinja::Template main, ChatTokens tokens, std::string where)
    : main_(std::move(main)), tokens_(std::move(tokens)), where_(std::move(where)) {
  holds_system_ = find_whether_it_holds_system();
}

ChatTemplate ChatTemplate::from_text(std::string_view jinja, ChatTokens tokens,
                                     const std::string& where) {
  return {jinja::Template(jinja, where), std::move(tokens), where};
}

bool ChatTemplate::find_whether_it_holds_system() const {
  constexpr const char* kText = "LONGHAUL SYSTEM MESSAGE";
  const std::array<ChatMessage, 2> probe = {ChatMessage{ChatRole::system, kText},
                                            ChatMessage{ChatRole::user, "Hello"}};
  try {
    return rendered(probe, true).bytes().find(kText) != std::string_view::npos;
  } catch (const UserError&) {  // the error is reported when a system message is given
    return false;
  }
}

jinja::Variables ChatTemplate::variables(bool add_generation_prompt) const {
  constexpr int kFixedYear = 2024, kFixedMonth = 7, kFixedDay = 26;  // Llama 3's default date
  jinja::Variables found;
  const auto token = [&](const char* name, const std::string& text) {
    if (!text.empty()) found[name] = Value::text(text);
  };
  token("bos_token", tokens_.bos);
  token("eos_token", tokens_.eos);
  token("unk_token", tokens_.unknown);
  token("pad_token", tokens_.padding);
  found["tools"] = found["documents"] = Value::none();
  found["add_generation_prompt"] = Value(add_generation_prompt);
  found["strftime_now"] =
      clock_ ? jinja::strftime_now(*clock_, true)
             : jinja::strftime_now(jinja::day(kFixedYear, kFixedMonth, kFixedDay), false);
  return found;
}

jinja::String ChatTemplate::rendered(std::span<const ChatMessage> messages,
                                     bool add_generation_prompt) const {
  jinja::Variables given = variables(add_generation_prompt);
  jinja::Values list;
  for (const ChatMessage& message : messages) list.push_back(value_of(message));
  given["messages"] = Value::list(std::move(list));
  return main_.render(given, bytes_of(messages));
}

std::vector<TextSegment> ChatTemplate::segments(std::span<const ChatMessage> messages,
                                                bool add_generation_prompt) const {
  const jinja::String text = rendered(messages, add_generation_prompt);
  const auto is_system = [](const ChatMessage& m) { return m.role == ChatRole::system; };
  if (!holds_system_ && std::any_of(messages.begin(), messages.end(), is_system)) {
    user_error("{} has no place for a system message", where_);
  }
  return segments_of(text);
}

std::vector<TextSegment> ChatTemplate::segments(const ChatRequest& request) const {
  if (!request.messages.is_array()) user_error("chat: messages are no list");
  jinja::Variables given = variables(request.add_generation_prompt);
  size_t bytes = 0;
  const auto add = [&](const std::string& name, const nlohmann::ordered_json& json) {
    given[name] = jinja::from_json(json);
    bytes += json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).size();
  };
  if (!request.variables.is_null()) {
    for (const auto& [name, json] : request.variables.items()) add(name, json);
  }
  add("messages", request.messages);
  add("tools", request.tools);
  add("documents", request.documents);
  jinja::Values list;
  for (const auto& message : request.messages) list.push_back(value_of(message, list.size() + 1));
  given["messages"] = Value::list(std::move(list));
  const bool tools = with_tools_ && !request.tools.is_null();
  return segments_of((tools ? *with_tools_ : main_).render(given, bytes));
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages,
                                 bool add_generation_prompt) const {
  std::string out;
  for (const TextSegment& segment : segments(messages, add_generation_prompt)) {
    out += segment.text;
  }
  return out;
}

std::vector<TextSegment> ChatTemplate::further_turn(
    std::string_view user_text, const std::optional<std::string>& system) const {
  // The text after a reply does not depend on the reply, and these two replies share no ending.
  const auto behind = [&](const char* reply) {
    std::vector<ChatMessage> messages;
    if (system) messages.push_back({ChatRole::system, *system});
    messages.push_back({ChatRole::user, "Hello"});
    messages.push_back({ChatRole::assistant, reply});
    messages.push_back({ChatRole::user, std::string(user_text)});
    return rendered(messages, true);
  };
  const jinja::String one = behind("1"), other = behind("What");
  const size_t bytes = common_end(one.bytes(), other.bytes());
  if (bytes == one.size()) user_error("{} leaves replies out of the conversation", where_);
  return segments_of(one.slice(one.size() - bytes, one.size()));
}

}  // namespace longhaul
