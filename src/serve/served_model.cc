#include "serve/served_model.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "serve/api/api_error.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

/// Options that name files are reserved for the operator, because clients could read any file with
/// them.
std::string file_option_in(const std::string& text) {
  for (const MethodInfo& info : attention_methods()) {
    const OptionSet set = info.describe();
    for (const Option& option : set.list.options()) {
      if (option.kind != OptionKind::kFile && option.kind != OptionKind::kOutputFile) continue;
      for (const char before : {':', ',', '+', '='}) {
        if (text.find(before + std::string(option.key) + "=") != std::string::npos) {
          return std::string(option.key);
        }
      }
    }
  }
  return {};
}

[[noreturn]] void refuse_method(const std::string& message) {
  throw ApiError(400, "invalid_request_error", "unknown_attention", message, "attention");
}

MethodSpec parse_method(const ServedModel& model, const std::string& text) {
  for (const MethodSpec& offer : model.offers) {
    if (offer.text() == text || offer.info().name == text) return offer;
  }
  const MethodSpec& own = model.session.attention;
  if (own.text() == text || own.info().name == text) return own;
  if (!model.offers.empty()) {
    refuse_method(fmt::format("attention: {} is not offered by this server", printable(text)));
  }
  if (const std::string option = file_option_in(text); !option.empty()) {
    refuse_method(fmt::format(
        "attention: {} names a file; the server has to be started with --offer METHOD:{}=FILE",
        option, option));
  }
  try {
    const MethodSpec spec = MethodSpec::parse(text).for_model(model.engine->model().shape);
    if (spec.writes()) refuse_method("attention: this method writes files");
    spec.make(model.engine->model().shape);
    return spec;
  } catch (const UserError& error) {
    refuse_method(error.what());
  }
}

/// The offered adapter that a name ends with; empty: none.
std::string adapter_in(const ServedModel& model, const std::string& name) {
  const std::string begin = model.name + "+";
  if (!name.starts_with(begin)) return {};
  const std::string adapter = name.substr(begin.size());
  return model.adapters.contains(adapter) ? adapter : std::string();
}

}  // namespace

void ServedModel::use_template(ChatTemplate chat_template) {
  reply_format = find_reply_format(chat_template);
  chat = std::move(chat_template);
}

MethodSpec method_of_request(const ServedModel& model, const std::string& attention) {
  return attention.empty() ? model.session.attention : parse_method(model, attention);
}

ModelChoice choice_of_request(const ServedModel& model, const std::string& named_model,
                              const std::string& attention) {
  std::string name = named_model, method = attention;
  // Ollama's programs add this to names without a tag.
  constexpr std::string_view kLatest = ":latest";
  if (name.ends_with(kLatest) && name != model.name) name.resize(name.size() - kLatest.size());
  if (const size_t at = name.find('@'); at != std::string::npos) {
    if (method.empty()) method = name.substr(at + 1);
    name.resize(at);
  }
  const std::string adapter = adapter_in(model, name);
  // Programs whose model name cannot be configured send one of their own.
  const bool accepted = !adapter.empty() || name.empty() || name == model.name || name == "default";
  if (!accepted) {
    throw ApiError(404, "not_found_error", "model_not_found",
                   fmt::format("this server has no model {}; it has {}", printable(name),
                               fmt::join(names_of(model), ", ")),
                   "model");
  }
  return {method_of_request(model, method), adapter};
}

std::vector<std::string> names_of(const ServedModel& model) {
  std::vector<std::string> names = {model.name};
  for (const MethodSpec& offer : model.offers) {
    names.push_back(model.name + "@" + std::string(offer.info().name));
  }
  for (const auto& [name, engine] : model.adapters) names.push_back(model.name + "+" + name);
  return names;
}

}  // namespace longhaul::serve
