// Facts about the model, its methods and the server.

#include "attention/registry.h"
#include "base/error.h"
#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"
#include "serve/api/pages.h"

namespace longhaul::serve {
namespace {

using http::HttpRequest;

Json model_entry(const ServedModel& model, const std::string& name, const std::string& adapter) {
  // With the members of OpenAI's and of Anthropic's API.
  return {{"id", name},
          {"object", "model"},
          {"type", "model"},
          {"display_name", name},
          {"created", 0},
          {"created_at", "1970-01-01T00:00:00Z"},
          {"owned_by", "longhaul"},
          {"max_model_len", model.told_context(adapter)},
          {"longhaul",
           {{"trained_context", model.trained(adapter)},
            {"adapter", adapter.empty() ? Json() : Json(adapter)},
            {"context", model.context},
            {"attention", model.session.attention.text()},
            {"kv_type", model.kv_type}}}};
}

Json adapter_names(const ServedModel& model) {
  Json names = Json::array();
  for (const auto& [name, engine] : model.adapters) names.push_back(name);
  return names;
}

/// Methods that a body names in "attention" (one or a list), or all that are offered.
std::vector<std::string> asked_methods(const ServedModel& model, const FieldReader& fields) {
  std::vector<std::string> names;
  const Json* asked = fields.find("attention");
  if (asked != nullptr && asked->is_string()) return {asked->get<std::string>()};
  if (asked != nullptr) {
    if (!asked->is_array() || asked->size() > 64)
      refuse_field("attention", "is no list of methods");
    for (const Json& name : *asked) {
      if (!name.is_string()) refuse_field("attention", "is no list of methods");
      names.push_back(name.get<std::string>());
    }
    return names;
  }
  names.push_back(model.session.attention.text());
  for (const MethodSpec& offer : model.offers) names.push_back(offer.text());
  return names;
}

}  // namespace

Json models_page(const ServedModel& model, const HttpRequest&) {
  Json list = Json::array();
  Json short_list = Json::array();
  for (const std::string& name : names_of(model)) {
    list.push_back(model_entry(model, name, choice_of_request(model, name, "").adapter));
    short_list.push_back({{"name", name}, {"model", name}});
  }
  const Json first = list.front()["id"], last = list.back()["id"];
  return {{"object", "list"},  {"data", std::move(list)}, {"models", std::move(short_list)},
          {"has_more", false}, {"first_id", first},       {"last_id", last}};
}

Json model_page(const ServedModel& model, const HttpRequest& request) {
  const std::string name = request.path.substr(std::string_view("/v1/models/").size());
  return model_entry(model, name, choice_of_request(model, name, "").adapter);
}

Json props_page(const ServedModel& model, const HttpRequest&) {
  return {
      {"default_generation_settings",
       {{"n_ctx", model.told_context()},
        {"params",
         {{"temperature", model.sampler.temperature},
          {"top_k", model.sampler.top_k},
          {"top_p", model.sampler.top_p},
          {"min_p", model.sampler.min_p}}}}},
      {"total_slots", model.parallel},
      {"model_alias", model.name},
      {"model_path", model.name},
      {"modalities", {{"vision", false}, {"audio", false}}},
      {"bos_token",
       model.engine->tokenizer().bos_id()
           ? Json(std::string(model.engine->tokenizer().piece(*model.engine->tokenizer().bos_id())))
           : Json()},
      {"chat_template", model.chat ? "jinja" : ""},
      {"is_sleeping", false},
      {"build_info", "longhaul"},
      {"longhaul",
       {{"attention", model.session.attention.text()},
        {"kv_type", model.kv_type},
        {"kernels", model.kernels},
        {"sandbox", model.sandbox},
        {"cache_dir", !model.cache_folder.empty()},
        {"adapters", adapter_names(model)},
        {"trained_context", model.trained()}}}};
}

Json lora_adapters_page(const ServedModel& model, const HttpRequest&) {
  Json list = Json::array();
  for (const auto& [name, engine] : model.adapters) {
    list.push_back({{"id", list.size()}, {"path", name}, {"scale", 0.0}});  // requests choose one
  }
  return list;
}

Json slots_page(const ServedModel& model, const HttpRequest&) {
  Json slots = Json::array();
  int id = 0;
  for (const Scheduler::Slot& slot : model.scheduler->slots()) {
    slots.push_back({{"id", id++},
                     {"n_ctx", model.told_context()},
                     {"is_processing", slot.processing},
                     {"n_prompt_tokens", slot.prompt_tokens},
                     {"n_decoded", slot.reply_tokens}});
  }
  return slots;
}

Json methods_page(const ServedModel& model, const HttpRequest&) {
  Json list = Json::array();
  for (const MethodInfo& info : attention_methods()) {
    Json options = Json::array();
    const OptionSet set = info.describe();
    for (const Option& option : set.list.options()) {
      options.push_back({{"name", std::string(option.key)},
                         {"default", std::string(option.fallback)},
                         {"help", std::string(option.help)}});
    }
    list.push_back({{"name", std::string(info.name)},
                    {"summary", std::string(info.summary)},
                    {"when", std::string(info.when)},
                    {"keeps", std::string(info.keeps)},
                    {"harms", std::string(info.harms)},
                    {"options", std::move(options)}});
  }
  return {
      {"object", "list"}, {"default", model.session.attention.text()}, {"data", std::move(list)}};
}

Json forecast_page(const ServedModel& model, const HttpRequest& request) {
  constexpr std::string_view kKnown[] = {"tokens", "reply", "attention"};
  const Json body = read_body(request.body, kKnown);
  const FieldReader fields(body);
  const auto tokens = fields.integer("tokens", 1, int64_t{1} << 32);
  if (!tokens) refuse_field("tokens", "is missing");
  const int64_t reply = fields.integer("reply", 0, int64_t{1} << 32).value_or(1024);
  const size_t fixed = model.port->fixed_bytes(), limit = model.memory_limit;
  const size_t taken = model.scheduler->bytes_in_use() + model.scheduler->bytes_reserved();
  Json list = Json::array();
  for (const std::string& name : asked_methods(model, fields)) {
    const MethodSpec method = method_of_request(model, name);
    const size_t bytes = model.port->most_bytes(method, *tokens, reply);
    list.push_back({{"attention", method.text()},
                    {"bytes", bytes},
                    {"fits", fixed + bytes <= limit},
                    {"fits_now", fixed + taken + bytes <= limit}});
  }
  return {{"object", "list"},
          {"tokens", *tokens},
          {"limit", limit},
          {"fixed", fixed},
          {"data", std::move(list)}};
}

}  // namespace longhaul::serve
