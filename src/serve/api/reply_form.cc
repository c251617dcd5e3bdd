#include "serve/api/reply_form.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/api/api_error.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

using grammar::Grammar;
using grammar::GrammarKind;
using grammar::GrammarPart;

constexpr size_t kMostChoices = 4096;

template <class Compile>
Grammar compiled_form(const std::string& name, Compile compile) {
  try {
    return compile();
  } catch (const UserError& error) {
    refuse_field(name, "{}", one_line(error.what()));
  }
}

Grammar form_of_schema(const std::string& name, const Json& schema) {
  return compiled_form(name, [&] {
    // llama-server also accepts a schema as a text.
    const std::string text = schema.is_string() ? schema.get<std::string>() : schema.dump();
    return Grammar::compile(text, GrammarKind::kJsonSchema);
  });
}

std::optional<Grammar> format_form(const Json& format, const std::string& name) {
  if (!format.is_object() || !format.contains("type") || !format["type"].is_string()) {
    refuse_field(name, "is no object with a type");
  }
  const std::string type = format["type"];
  if (type == "text") return {};
  if (type == "json_object") {
    const bool described = format.contains("schema") && !format["schema"].is_null();
    if (!described) return form_of_schema(name, {{"type", "object"}});
    if (!format["schema"].is_object()) refuse_field(name + ".schema", "is no object");
    return form_of_schema(name, format["schema"]);  // llama-server's form
  }
  if (type != "json_schema") refuse_field(name, "the type {} is unknown", printable(type));
  const Json outer = format.contains("json_schema") ? format["json_schema"] : format;
  if (!outer.is_object() || !outer.contains("schema")) {
    refuse_field(name + ".json_schema", "has no schema");
  }
  return form_of_schema(name + ".json_schema.schema", outer["schema"]);
}

/// vLLM's {"regex": ...}, {"choice": [...]}, {"json": {...}} or {"grammar": ...}.
std::optional<Grammar> structured_outputs(const Json& form) {
  const std::string name = "structured_outputs";
  if (!form.is_object()) refuse_field(name, "is no object");
  std::optional<Grammar> found;
  for (const auto& [key, value] : form.items()) {
    if (value.is_null()) continue;
    const std::string where = name + "." + key;
    if (found) refuse_field(where, "is a second form beside another one");
    if (key == "json") {
      found = form_of_schema(where, value);
    } else if (key == "regex" || key == "grammar") {
      if (!value.is_string()) refuse_field(where, "is no text");
      found = compiled_form(where,
                            [&, kind = key == "regex" ? GrammarKind::kRegex : GrammarKind::kGbnf] {
                              return Grammar::compile(value.get<std::string>(), kind);
                            });
    } else if (key == "choice") {
      if (!value.is_array() || value.empty() || value.size() > kMostChoices) {
        refuse_field(where, "is no list of 1 to {} texts", kMostChoices);
      }
      std::vector<std::vector<GrammarPart>> alternatives;
      for (const Json& text : value) {
        if (!text.is_string()) refuse_field(where, "lists something that is no text");
        alternatives.push_back({{GrammarKind::kText, text.get<std::string>()}});
      }
      found = compiled_form(where, [&] { return Grammar::compile_choice(alternatives); });
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

std::optional<grammar::Constraint> constraint_of_format(const ServedModel& model,
                                                        const Json& format,
                                                        const std::string& name) {
  const std::optional<Grammar> form = format_form(format, name);
  if (!form) return {};
  return grammar::Constraint(*form, vocabulary_of(model));
}

std::optional<grammar::Constraint> read_reply_form(const ServedModel& model,
                                                   const FieldReader& fields) {
  std::optional<Grammar> form;
  std::string of;
  const auto take = [&](const char* name, std::optional<Grammar> found) {
    if (!found) return;
    if (form) refuse_field(name, "is a second form beside {}", of);
    form = std::move(found);
    of = name;
  };
  if (const Json* value = fields.find("response_format")) {
    take("response_format", format_form(*value, "response_format"));
  }
  if (const Json* value = fields.find("json_schema")) {
    const bool none = value->is_string() && value->get<std::string>().empty();
    if (!none) take("json_schema", form_of_schema("json_schema", *value));
  }
  if (const auto text = fields.text("grammar"); text && !text->empty()) {
    take("grammar",
         compiled_form("grammar", [&] { return Grammar::compile(*text, GrammarKind::kGbnf); }));
  }
  if (const Json* value = fields.find("structured_outputs")) {
    take("structured_outputs", structured_outputs(*value));
  }
  if (!form) return {};
  return grammar::Constraint(*form, vocabulary_of(model));
}

}  // namespace longhaul::serve
