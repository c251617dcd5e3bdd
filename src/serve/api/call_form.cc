#include "serve/api/call_form.h"

#include <cctype>

#include "base/error.h"
#include "serve/api/api_error.h"
#include "serve/api/reply_form.h"

namespace longhaul::serve {
namespace {

using grammar::Grammar;
using grammar::GrammarKind;
using grammar::GrammarPart;

using Parts = std::vector<GrammarPart>;

Json schema_of(const Json& function, bool any_object) {
  Json schema = function.value("parameters", Json::object());
  if (any_object || !schema.is_object()) schema = Json::object();
  if (any_object || !schema.contains("type")) schema["type"] = "object";
  return schema;
}

/// {"name": NAME, KEY: {...}} between two texts.
Parts object_call(const Json& function, bool any_object, const char* key, const std::string& before,
                  const std::string& after) {
  return {{GrammarKind::kText,
           before + "{\"name\": " + text_of(function["name"]) + ", \"" + key + "\": "},
          {GrammarKind::kJsonSchema, text_of(schema_of(function, any_object))},
          {GrammarKind::kText, "}" + after}};
}

std::string regex_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::ispunct(static_cast<unsigned char>(c)) != 0 && c != '_') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// A regex for texts without `tag`, which begins with < and has no other one.
std::string text_without(std::string_view tag) {
  std::string begun;  // a further beginning of the tag, behind its first byte
  std::string other;  // one with a byte that does not continue it
  for (size_t i = tag.size() - 1; i > 0; --i) {
    const std::string next = regex_text(std::string(1, tag[i]));
    const bool last = i + 1 == tag.size();
    if (!last) begun = "(" + next + begun + ")?";
    other = last ? "[^<" + next + "]" : "([^<" + next + "]|" + next + other + ")";
  }
  return "([^<]|(<" + begun + ")*<" + other + ")*";
}

/// Qwen3-Coder's tags: any of the function's parameters, each with a text of any kind.
Parts tags_call(const Json& function) {
  std::string keys;
  const Json schema = schema_of(function, false);
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [key, value] : properties.items()) {
    keys += (keys.empty() ? "" : "|") + regex_text(key);
  }
  const std::string parameter =
      "<parameter=(" + keys + ")>" + text_without("</parameter>") + "</parameter>\\n";
  Parts parts = {
      {GrammarKind::kText, "\n<function=" + function["name"].get<std::string>() + ">\n"}};
  if (!keys.empty()) parts.push_back({GrammarKind::kRegex, "(" + parameter + ")*"});
  parts.push_back({GrammarKind::kText, "</function>\n</tool_call>"});
  return parts;
}

/// A call after the mark that starts it. `any_object`: its arguments are any object.
Parts lazy_call(CallFamily family, const Json& function, bool any_object) {
  switch (family) {
    case CallFamily::kHermes:
      return object_call(function, any_object, "arguments", "\n", "\n</tool_call>");
    case CallFamily::kQwenCoder:
      return tags_call(function);
    case CallFamily::kLlama:
      return object_call(function, any_object, "parameters", "", "");
    case CallFamily::kMistral:
      return object_call(function, any_object, "arguments", "", "");
    default:
      return {{GrammarKind::kJsonSchema, text_of(schema_of(function, any_object))}};
  }
}

/// Marks after which nothing but a call can follow. A bare JSON object has none: it may be the
/// answer. Mistral's newer form, a name and [ARGS], stays free.
std::vector<std::string> starts_of(CallFamily family) {
  switch (family) {
    case CallFamily::kHermes:
    case CallFamily::kQwenCoder:
      return {"<tool_call>"};
    case CallFamily::kLlama:
      return {"<|python_tag|>"};
    case CallFamily::kMistral:
      return {"[TOOL_CALLS][", "[TOOL_CALLS] ["};
    case CallFamily::kChannels:
      return {"<|constrain|>json<|message|>"};
    default:
      return {};
  }
}

bool compiles_alone(const Parts& parts) {
  try {
    Grammar::compile(parts);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

/// The grammar of a reply after a mark that starts a call. Empty: calls are not restricted.
std::optional<Grammar> lazy_grammar(CallFamily family, const Json& tools) {
  std::vector<Parts> alternatives;
  for (const Json& tool : tools) {
    alternatives.push_back(lazy_call(family, tool["function"], false));
  }
  try {
    return Grammar::compile_choice(alternatives);
  } catch (const UserError&) {  // one that is not supported, or too many
  }
  for (size_t i = 0; i < alternatives.size(); ++i) {
    if (compiles_alone(alternatives[i])) continue;
    alternatives[i] = lazy_call(family, tools[i]["function"], true);
  }
  try {
    return Grammar::compile_choice(alternatives);
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace

KeptForm demanded_call(const ServedModel& model, const ReplyFormat& format,
                       const Conversation& conversation) {
  static KeptForms kept;
  const ToolChoice& choice = conversation.choice;
  const std::string key = std::string(name_of(format.family)) + "\n" + choice.function + "\n" +
                          text_of(conversation.tools);
  const auto vocabulary = vocabulary_of(model);
  try {
    return kept.of(key, vocabulary, [&] {
      const ForcedCall call = forced_call(format, conversation.tools, choice.function);
      return KeptForm{grammar::Constraint(call.grammar, vocabulary), call.prompt_end};
    });
  } catch (const UserError& error) {
    refuse_field("tools", "{}", error.what());
  }
}

std::optional<grammar::Constraint> call_constraint(const ServedModel& model,
                                                   const ReplyFormat& format, const Json& tools) {
  static KeptForms kept;
  const std::vector<std::string> starts = starts_of(format.family);
  if (starts.empty()) return {};
  const std::string key = std::string(name_of(format.family)) + "\n" + text_of(tools);
  const auto vocabulary = vocabulary_of(model);
  return kept
      .of(key, vocabulary,
          [&] {
            KeptForm form;
            if (const auto grammar = lazy_grammar(format.family, tools)) {
              form.constraint.emplace(*grammar, vocabulary, starts);
            }
            return form;
          })
      .constraint;
}

}  // namespace longhaul::serve
