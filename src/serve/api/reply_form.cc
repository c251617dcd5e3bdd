#include "serve/api/reply_form.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/api/api_error.h"
#include "serve/api/kept_forms.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

using grammar::Constraint;
using grammar::Grammar;
using grammar::GrammarKind;
using grammar::GrammarPart;

constexpr size_t kMostChoices = 4096;

/// Compiles a form, or returns the one of an earlier request. `key` contains its text.
Constraint kept_reply_form(const ServedModel& model, const std::string& name,
                           const std::string& key, const std::function<Grammar()>& compile) {
  static KeptForms kept;
  const auto vocabulary = vocabulary_of(model);
  try {
    const KeptForm form = kept.of(key, vocabulary, [&] {
      return KeptForm{Constraint(compile(), vocabulary), {}};
    });
    return *form.constraint;
  } catch (const UserError& error) {
    refuse_field(name, "{}", one_line(error.what()));
  }
}

Constraint form_of_text(const ServedModel& model, const std::string& name, const std::string& text,
                        GrammarKind kind) {
  const std::string key = std::to_string(static_cast<int>(kind)) + text;
  return kept_reply_form(model, name, key, [&] { return Grammar::compile(text, kind); });
}

Constraint form_of_schema(const ServedModel& model, const std::string& name, const Json& schema) {
  // llama-server also accepts a schema as a text.
  const std::string text = schema.is_string() ? schema.get<std::string>() : schema.dump();
  return form_of_text(model, name, text, GrammarKind::kJsonSchema);
}

/// vLLM's {"regex": ...}, {"choice": [...]}, {"json": {...}} or {"grammar": ...}.
std::optional<Constraint> structured_outputs(const ServedModel& model, const Json& form) {
  const std::string name = "structured_outputs";
  if (!form.is_object()) refuse_field(name, "is no object");
  std::optional<Constraint> found;
  for (const auto& [key, value] : form.items()) {
    if (value.is_null()) continue;
    const std::string where = name + "." + key;
    if (found) refuse_field(where, "is a second form beside another one");
    if (key == "json") {
      found = form_of_schema(model, where, value);
    } else if (key == "regex" || key == "grammar") {
      if (!value.is_string()) refuse_field(where, "is no text");
      found = form_of_text(model, where, value.get<std::string>(),
                           key == "regex" ? GrammarKind::kRegex : GrammarKind::kGbnf);
    } else if (key == "choice") {
      if (!value.is_array() || value.empty() || value.size() > kMostChoices) {
        refuse_field(where, "is no list of 1 to {} texts", kMostChoices);
      }
      std::vector<std::vector<GrammarPart>> alternatives;
      for (const Json& text : value) {
        if (!text.is_string()) refuse_field(where, "lists something that is no text");
        alternatives.push_back({{GrammarKind::kText, text.get<std::string>()}});
      }
      found = kept_reply_form(model, where, "choice" + text_of(value),
                              [&] { return Grammar::compile_choice(alternatives); });
    } else {
      refuse_field(where, "is not supported");
    }
  }
  return found;
}

}  // namespace

std::shared_ptr<const grammar::TokenTrie> vocabulary_of(const ServedModel& model) {
  static std::mutex mutex;
  static std::weak_ptr<const Engine> engine;
  static std::shared_ptr<const grammar::TokenTrie> trie;
  const std::scoped_lock lock(mutex);
  if (trie == nullptr || engine.lock() != model.engine) {
    trie = grammar::TokenTrie::of(model.engine->tokenizer());
    engine = model.engine;
  }
  return trie;
}

std::optional<Constraint> constraint_of_format(const ServedModel& model, const Json& format,
                                               const std::string& name) {
  if (!format.is_object() || !format.contains("type") || !format["type"].is_string()) {
    refuse_field(name, "is no object with a type");
  }
  const std::string type = format["type"];
  if (type == "text") return {};
  if (type == "json_object") {
    const bool described = format.contains("schema") && !format["schema"].is_null();
    if (!described) return form_of_schema(model, name, {{"type", "object"}});
    if (!format["schema"].is_object()) refuse_field(name + ".schema", "is no object");
    return form_of_schema(model, name, format["schema"]);  // llama-server's form
  }
  if (type != "json_schema") refuse_field(name, "the type {} is unknown", printable(type));
  const Json outer = format.contains("json_schema") ? format["json_schema"] : format;
  if (!outer.is_object() || !outer.contains("schema")) {
    refuse_field(name + ".json_schema", "has no schema");
  }
  return form_of_schema(model, name + ".json_schema.schema", outer["schema"]);
}

std::optional<grammar::Constraint> read_reply_form(const ServedModel& model,
                                                   const FieldReader& fields) {
  std::optional<Constraint> form;
  std::string of;
  const auto take = [&](const char* name, std::optional<Constraint> found) {
    if (!found) return;
    if (form) refuse_field(name, "is a second form beside {}", of);
    form = std::move(found);
    of = name;
  };
  if (const Json* value = fields.find("response_format")) {
    take("response_format", constraint_of_format(model, *value, "response_format"));
  }
  if (const Json* value = fields.find("json_schema")) {
    const bool none = value->is_string() && value->get<std::string>().empty();
    if (!none) take("json_schema", form_of_schema(model, "json_schema", *value));
  }
  if (const auto text = fields.text("grammar"); text && !text->empty()) {
    take("grammar", form_of_text(model, "grammar", *text, GrammarKind::kGbnf));
  }
  if (const Json* value = fields.find("structured_outputs")) {
    take("structured_outputs", structured_outputs(model, *value));
  }
  return form;
}

}  // namespace longhaul::serve
