#include "serve/api/call_form.h"

#include <cctype>
#include <deque>
#include <mutex>

#include "base/error.h"
#include "serve/api/api_error.h"
#include "serve/api/reply_form.h"

namespace longhaul::serve {
namespace {

using grammar::Grammar;
using grammar::GrammarKind;
using grammar::GrammarPart;

constexpr size_t kMostKeptForms = 32;

/// Results of the last requests. Agents send the same tools in every turn.
template <class Form>
class KeptForms {
 public:
  template <class Make>
  Form of(const std::string& key, Make make) {
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& [known, form] : forms_) {
        if (known == key) return form;
      }
    }
    Form form = make();
    const std::scoped_lock lock(mutex_);
    forms_.emplace_front(key, form);
    if (forms_.size() > kMostKeptForms) forms_.pop_back();
    return form;
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<std::string, Form>> forms_;
};

/// The form of a reply after a mark that starts a call.
struct LazyForm {
  std::optional<Grammar> grammar;   ///< none: calls are not restricted
  std::vector<std::string> starts;  ///< the marks
};
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

LazyForm lazy_form(CallFamily family, const Json& tools) {
  LazyForm form{{}, starts_of(family)};
  if (form.starts.empty()) return form;
  std::vector<Parts> alternatives;
  for (const Json& tool : tools) {
    alternatives.push_back(lazy_call(family, tool["function"], false));
  }
  try {
    form.grammar = Grammar::compile_choice(alternatives);
    return form;
  } catch (const UserError&) {  // one that is not supported, or too many
  }
  for (size_t i = 0; i < alternatives.size(); ++i) {
    if (compiles_alone(alternatives[i])) continue;
    alternatives[i] = lazy_call(family, tools[i]["function"], true);
  }
  try {
    form.grammar = Grammar::compile_choice(alternatives);
  } catch (const UserError&) {
  }
  return form;
}

}  // namespace

ForcedCall demanded_call(const ReplyFormat& format, const Conversation& conversation) {
  static KeptForms<ForcedCall> kept;
  const ToolChoice& choice = conversation.choice;
  const std::string key = std::string(name_of(format.family)) + "\n" + choice.function + "\n" +
                          text_of(conversation.tools);
  try {
    return kept.of(key, [&] { return forced_call(format, conversation.tools, choice.function); });
  } catch (const UserError& error) {
    refuse_field("tools", "{}", error.what());
  }
}

std::optional<grammar::Constraint> call_constraint(const ServedModel& model,
                                                   const ReplyFormat& format, const Json& tools) {
  static KeptForms<LazyForm> kept;
  const std::string key = std::string(name_of(format.family)) + "\n" + text_of(tools);
  const LazyForm form = kept.of(key, [&] { return lazy_form(format.family, tools); });
  if (!form.grammar) return {};
  return grammar::Constraint(*form.grammar, vocabulary_of(model), form.starts);
}

}  // namespace longhaul::serve
