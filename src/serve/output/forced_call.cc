#include "serve/output/forced_call.h"

#include <vector>

#include "base/error.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

using Json = nlohmann::ordered_json;
using grammar::GrammarKind;
using grammar::GrammarPart;
using Parts = std::vector<GrammarPart>;

/// Any text without the tag that would end it.
constexpr std::string_view kTextInTags = "([^<]|<+[^</])*";

struct Function {
  std::string name;
  Json schema;
};

std::vector<Function> chosen_functions(const Json& tools, const std::string& name) {
  std::vector<Function> chosen;
  for (const Json& tool : tools.is_array() ? tools : Json::array()) {
    if (!tool.is_object()) continue;
    const Json& function = tool.contains("function") ? tool["function"] : tool;
    if (!function.is_object() || !function.contains("name") || !function["name"].is_string()) {
      continue;
    }
    const std::string own = function["name"];
    if (!name.empty() && own != name) continue;
    const bool described = function.contains("parameters") && function["parameters"].is_object();
    Json schema = described ? function["parameters"] : Json::object();
    if (!schema.contains("type")) schema["type"] = "object";
    chosen.push_back({own, std::move(schema)});
  }
  if (chosen.empty()) {
    if (name.empty()) user_error("tool_choice demands a call, and there are no tools");
    user_error("tool_choice: no tool is named {}", printable(name));
  }
  return chosen;
}

Parts json_call(const Function& f, const char* key, const std::string& before,
                const std::string& after) {
  return {
      {GrammarKind::kText, before + "{\"name\": " + Json(f.name).dump() + ", \"" + key + "\": "},
      {GrammarKind::kJsonSchema, f.schema.dump()},
      {GrammarKind::kText, "}" + after}};
}

Parts tagged_call(const Function& f) {
  Parts parts = {{GrammarKind::kText, "<tool_call>\n<function=" + f.name + ">\n"}};
  const Json none = Json::object();
  const Json& properties = f.schema.contains("properties") ? f.schema["properties"] : none;
  for (const Json& required :
       f.schema.contains("required") ? f.schema["required"] : Json::array()) {
    if (!required.is_string()) continue;
    const std::string key = required;
    Json schema = properties.is_object() && properties.contains(key) ? properties[key] : none;
    const bool text = !schema.is_object() || !schema.contains("type") || schema["type"] == "string";
    // References lead to the definitions of the whole schema.
    for (const char* definitions : {"$defs", "definitions"}) {
      if (schema.is_object() && f.schema.contains(definitions)) {
        schema[definitions] = f.schema[definitions];
      }
    }
    parts.push_back({GrammarKind::kText, "<parameter=" + key + ">\n"});
    if (text) {
      parts.push_back({GrammarKind::kRegex, std::string(kTextInTags)});
    } else {
      parts.push_back({GrammarKind::kJsonSchema, schema.dump()});
    }
    parts.push_back({GrammarKind::kText, "\n</parameter>\n"});
  }
  parts.push_back({GrammarKind::kText, "</function>\n</tool_call>"});
  return parts;
}

Parts call_parts(const ReplyFormat& format, const Function& f) {
  switch (format.family) {
    case CallFamily::kHermes:
      return json_call(f, "arguments", "<tool_call>\n", "\n</tool_call>");
    case CallFamily::kQwenCoder:
      return tagged_call(f);
    case CallFamily::kLlama:
      return json_call(f, "parameters", "", "");
    case CallFamily::kMistral:
      return json_call(f, "arguments", "[", "]");
    case CallFamily::kChannels:
      return {{GrammarKind::kJsonSchema, f.schema.dump()}};
    case CallFamily::kBareJson:
    case CallFamily::kNone:
      break;
  }
  return json_call(f, "arguments", "", "");
}

}  // namespace

ForcedCall forced_call(const ReplyFormat& format, const Json& tools, const std::string& name) {
  const std::vector<Function> functions = chosen_functions(tools, name);
  std::string prompt_end;
  if (format.family == CallFamily::kMistral) prompt_end = "[TOOL_CALLS]";
  if (format.family == CallFamily::kChannels) {
    if (functions.size() > 1) {
      user_error("tool_choice: this model can be held to one function, not to one of {}",
                 functions.size());
    }
    prompt_end =
        "<|channel|>commentary to=functions." + functions[0].name + " <|constrain|>json<|message|>";
  }
  std::vector<Parts> alternatives;
  for (const Function& f : functions) {
    alternatives.push_back(call_parts(format, f));
    try {  // alone, so that the error names the function
      grammar::Grammar::compile(alternatives.back());
    } catch (const UserError& error) {
      user_error("tool {}: {}", printable(f.name), error.what());
    }
  }
  return {prompt_end, grammar::Grammar::compile_choice(alternatives)};
}

}  // namespace longhaul::serve
