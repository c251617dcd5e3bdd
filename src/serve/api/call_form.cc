#include "serve/api/call_form.h"

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

/// A call in the form of Hermes and Qwen, after its mark.
std::vector<GrammarPart> hermes_call(const Json& function, bool any_object) {
  Json schema = function.value("parameters", Json::object());
  if (any_object || !schema.is_object()) schema = Json::object();
  if (any_object || !schema.contains("type")) schema["type"] = "object";
  return {{GrammarKind::kText, "\n{\"name\": " + text_of(function["name"]) + ", \"arguments\": "},
          {GrammarKind::kJsonSchema, text_of(schema)},
          {GrammarKind::kText, "}\n</tool_call>"}};
}

bool compiles_alone(const std::vector<GrammarPart>& parts) {
  try {
    Grammar::compile(parts);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::optional<Grammar> hermes_calls(const Json& tools) {
  std::vector<std::vector<GrammarPart>> alternatives;
  for (const Json& tool : tools) alternatives.push_back(hermes_call(tool["function"], false));
  try {
    return Grammar::compile_choice(alternatives);
  } catch (const UserError&) {  // one that is not supported, or too many
  }
  for (size_t i = 0; i < alternatives.size(); ++i) {
    if (compiles_alone(alternatives[i])) continue;
    alternatives[i] = hermes_call(tools[i]["function"], true);
  }
  try {
    return Grammar::compile_choice(alternatives);
  } catch (const UserError&) {
    return {};
  }
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
  if (format.family != CallFamily::kHermes) return {};
  static KeptForms<std::optional<Grammar>> kept;
  const auto grammar = kept.of(text_of(tools), [&] { return hermes_calls(tools); });
  if (!grammar) return {};
  return grammar::Constraint(*grammar, vocabulary_of(model), {"<tool_call>"});
}

}  // namespace longhaul::serve
