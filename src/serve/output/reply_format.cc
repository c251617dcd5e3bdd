#include "serve/output/reply_format.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/user_error.h"
#include "tokenizer/chat_request.h"
#include "tokenizer/chat_template.h"

namespace longhaul::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCalled = "zqcalled";
constexpr std::string_view kThought = "zqthought";

Json probe_tools() {
  const Json function = {
      {"name", "zqoffered"},
      {"description", "A probe."},
      {"parameters",
       {{"type", "object"},
        {"properties", {{"zqkey", {{"type", "string"}, {"description", "A key."}}}}},
        {"required", {"zqkey"}}}}};
  return Json::array({{{"type", "function"}, {"function", function}}});
}

std::optional<std::string> rendered(const ChatTemplate& chat, const ChatRequest& request) {
  try {
    std::string text;
    for (const TextSegment& segment : chat.segments(request)) text += segment.text;
    return text;
  } catch (const UserError&) {
    return {};
  }
}

/// A conversation with one call, whose arguments are an object or a text.
std::optional<std::string> with_call(const ChatTemplate& chat, bool as_text, bool answered) {
  const Json arguments = {{"zqkey", "zqvalue"}};
  const Json call = {
      {"id", "zq0000001"},  // Mistral's templates require nine characters
      {"type", "function"},
      {"function",
       {{"name", kCalled}, {"arguments", as_text ? Json(arguments.dump()) : arguments}}}};
  ChatRequest request;
  request.messages =
      Json::array({{{"role", "user"}, {"content", "zqquestion"}},
                   {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({call})}}});
  if (answered) {
    request.messages.push_back({{"role", "tool"},
                                {"tool_call_id", "zq0000001"},
                                {"name", kCalled},
                                {"content", "zqresult"}});
  }
  request.tools = probe_tools();
  request.add_generation_prompt = answered;
  return rendered(chat, request);
}

CallFamily family_around(const std::string& text, size_t at) {
  const std::string_view before = std::string_view(text).substr(0, at);
  const auto ends = [&](std::string_view mark, size_t within) {
    const std::string_view near = before.substr(before.size() - std::min(before.size(), within));
    return near.find(mark) != std::string_view::npos;
  };
  if (before.ends_with("<function=")) {
    const bool tagged =
        std::string_view(text).substr(at, 60).find("<parameter=") != std::string_view::npos;
    return tagged ? CallFamily::kQwenCoder : CallFamily::kNone;
  }
  if (ends("to=functions.", 16)) return CallFamily::kChannels;
  if (ends("[TOOL_CALLS]", 100)) return CallFamily::kMistral;
  if (ends("<tool_call>", 60)) return CallFamily::kHermes;
  if (ends("<|python_tag|>", 60)) return CallFamily::kLlama;
  if (!ends("\"name\"", 20) && !ends("'name'", 20)) return CallFamily::kNone;
  const std::string_view after = std::string_view(text).substr(at, 60);
  return after.find("\"parameters\"") != std::string_view::npos ? CallFamily::kLlama
                                                                : CallFamily::kBareJson;
}

void find_family(const ChatTemplate& chat, ReplyFormat& format) {
  for (const bool answered : {true, false}) {
    for (const bool as_text : {false, true}) {
      const auto text = with_call(chat, as_text, answered);
      format.offers_tools |= text && text->find("zqoffered") != std::string::npos;
      const size_t at = text ? text->find(kCalled) : std::string::npos;
      if (at == std::string::npos) continue;
      const CallFamily family = family_around(*text, at);
      if (family == CallFamily::kNone) continue;
      format.family = family;
      format.arguments_as_text = as_text;
      // Jinja prints an object that is not converted to JSON in Python's form.
      const bool printed = text->find("{'zqkey'", at) != std::string::npos;
      if (!as_text && printed && with_call(chat, true, answered)) format.arguments_as_text = true;
      return;
    }
  }
}

/// Marks of reasoning, found by the text that a template adds around a thought or after a prompt.
void find_reasoning(const ChatTemplate& chat, ReplyFormat& format) {
  constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
      {"<think>", "</think>"},
      {"[THINK]", "[/THINK]"},
      {"<seed:think>", "</seed:think>"},
      {"<reasoning>", "</reasoning>"}};
  ChatRequest request;
  request.messages = Json::array({{{"role", "user"}, {"content", "zqquestion"}}});
  const std::string prompt = rendered(chat, request).value_or("");
  const size_t last = prompt.find_last_not_of(" \n");
  const std::string_view end = std::string_view(prompt).substr(0, last + 1);
  request.messages.push_back({{"role", "assistant"},
                              {"content", "zqanswer"},
                              {"reasoning_content", kThought},
                              {"thinking", kThought}});
  request.add_generation_prompt = false;
  const std::string thought = rendered(chat, request).value_or("");
  const size_t at = thought.find(kThought);
  for (const auto& [open, close] : kMarks) {
    const bool ends_prompt = end.ends_with(open);
    const bool around = at != std::string::npos && thought.rfind(open, at) != std::string::npos;
    if (!ends_prompt && !around) continue;
    format.reasoning_open = open;
    format.reasoning_close = close;
    format.begins_in_reasoning = ends_prompt;
    return;
  }
}

}  // namespace

std::string_view name_of(CallFamily family) {
  switch (family) {
    case CallFamily::kNone:
      return "none";
    case CallFamily::kHermes:
      return "hermes";
    case CallFamily::kQwenCoder:
      return "qwen-coder";
    case CallFamily::kLlama:
      return "llama";
    case CallFamily::kMistral:
      return "mistral";
    case CallFamily::kChannels:
      return "channels";
    case CallFamily::kBareJson:
      return "json";
  }
  return "";
}

ReplyFormat find_reply_format(const ChatTemplate& chat_template) {
  ReplyFormat format;
  find_family(chat_template, format);
  if (format.family == CallFamily::kChannels) {
    format.reasoning_open = format.reasoning_close = "";  // a channel
  } else {
    find_reasoning(chat_template, format);
  }
  return format;
}

OfferedTools::OfferedTools(const Json& tools) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools) {
    if (!tool.is_object()) continue;
    const Json& function = tool.contains("function") ? tool["function"] : tool;
    if (!function.is_object() || !function.contains("name") || !function["name"].is_string())
      continue;
    auto& parameters = text_parameters_[function["name"].get<std::string>()];
    if (!function.contains("parameters") || !function["parameters"].is_object()) continue;
    const Json& schema = function["parameters"];
    if (!schema.contains("properties") || !schema["properties"].is_object()) continue;
    for (const auto& [name, property] : schema["properties"].items()) {
      parameters[name] =
          !property.is_object() || !property.contains("type") || property["type"] == "string";
    }
  }
}

bool OfferedTools::has(std::string_view name) const {
  return text_parameters_.find(name) != text_parameters_.end();
}

bool OfferedTools::is_text(std::string_view name, std::string_view parameter) const {
  const auto tool = text_parameters_.find(name);
  if (tool == text_parameters_.end()) return true;
  const auto found = tool->second.find(parameter);
  return found == tool->second.end() || found->second;
}

}  // namespace longhaul::serve
