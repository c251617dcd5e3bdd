// POST /v1/advise: which method to try for a text of some length, and what each method costs.

#include <algorithm>

#include "base/error.h"
#include "engine/recommend.h"
#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"
#include "serve/api/measured_scores.h"
#include "serve/api/pages.h"
#include "serve/documents/question_documents.h"

namespace longhaul::serve {
namespace {

constexpr int64_t kMostAdvisedTokens = int64_t{1} << 32;

/// The methods that a client may choose: those that are offered, or all that need no options.
std::vector<MethodSpec> methods_to_choose_from(const ServedModel& model) {
  const ModelShape& shape = model.engine->model().shape;
  std::vector<MethodSpec> methods = {model.session.attention};
  const auto add = [&](const MethodSpec& method) {
    const bool there = std::ranges::any_of(
        methods, [&](const MethodSpec& other) { return other.text() == method.text(); });
    if (!there) methods.push_back(method);
  };
  for (const MethodSpec& offer : model.offers) add(offer);
  if (!model.offers.empty()) return methods;
  for (const MethodInfo& info : attention_methods()) {
    try {
      const MethodSpec method = MethodSpec::parse(std::string(info.name)).for_model(shape);
      method.make(shape);
      add(method);
    } catch (const UserError&) {  // it needs options, or another kind of model
    }
  }
  return methods;
}

/// Scores that docs/results has of the method; null: it was not measured.
Json measured_json(const ServedModel& model, const MethodSpec& method, int64_t tokens) {
  const auto found = measured_score(model.name, method.text(), tokens);
  if (!found) return nullptr;
  return {
      {"model", found->row.model},   {"task", fmt::format("mean of {} tasks", found->row.tasks)},
      {"tokens", found->row.tokens}, {"attention", found->row.attention},
      {"score", found->row.score},   {"dense", found->dense}};
}

Json row_of(const ServedModel& model, const MethodSpec& method, int64_t tokens, int64_t reply) {
  const MethodInfo& info = method.info();
  const auto made = method.make(model.engine->model().shape);
  const size_t bytes = model.port->most_bytes(method, tokens, reply);
  const size_t fixed = model.port->fixed_bytes(), limit = model.memory_limit;
  const size_t taken = model.scheduler->bytes_in_use() + model.scheduler->bytes_reserved();
  const int64_t reach = made->reach(tokens, model.session.chunk);
  const auto seconds =
      model.documents != nullptr ? model.documents->seconds_to_read(tokens, reach) : std::nullopt;
  return {{"attention", method.text()},
          {"name", std::string(info.name)},
          {"summary", std::string(info.summary)},
          {"keeps", std::string(info.keeps)},
          {"harms", std::string(info.harms)},
          {"bytes", bytes},
          {"seconds", seconds ? Json(*seconds) : Json()},
          {"fits", fixed + bytes <= limit},
          {"fits_now", fixed + taken + bytes <= limit},
          {"sources", true},  // some methods had none
          {"within_training", stays_within_training(*made, model.engine->model().shape,
                                                    tokens + reply, model.session.chunk)},
          {"recommended", false},
          {"measured", measured_json(model, method, tokens)}};
}

}  // namespace

Json advice_for(const ServedModel& model, int64_t tokens, int64_t reply) {
  // The server has one type of keys and values: another one is not advised.
  const auto fits = [&](const std::string& attention, const std::string& kv_type) {
    if (kv_type != model.kv_type) return false;
    const size_t bytes = model.port->most_bytes(MethodSpec::parse(attention), tokens, reply);
    return model.port->fixed_bytes() + bytes <= model.memory_limit;
  };
  const auto best = recommend(model.engine->model().shape, tokens + reply, model.session.chunk,
                              model.kv_type, fits);
  Json answer = {{"tokens", tokens}, {"reply", reply}, {"trained_context", model.trained()}};
  answer["attention"] = best ? Json(best->attention) : Json();
  answer["why"] = best ? best->why : "no method of this build reads this within the memory limit";
  answer["limit"] = model.memory_limit;
  answer["fixed"] = model.port->fixed_bytes();
  answer["data"] = Json::array();
  for (const MethodSpec& method : methods_to_choose_from(model)) {
    Json row = row_of(model, method, tokens, reply);
    row["recommended"] =
        best && row["name"] == best->attention.substr(0, best->attention.find(':'));
    answer["data"].push_back(std::move(row));
  }
  return answer;
}

Json advise_page(const ServedModel& model, const http::HttpRequest& request,
                 const std::string& key) {
  constexpr std::string_view kKnown[] = {"tokens", "document", "reply"};
  const Json body = read_body(request.body, kKnown);
  const FieldReader fields(body);
  auto tokens = fields.integer("tokens", 1, kMostAdvisedTokens);
  if (const auto id = fields.text("document")) {
    if (tokens) refuse_field("tokens", "the length is that of the document");
    tokens = tokens_of_document(model.documents, key, *id);
  }
  if (!tokens) refuse_field("tokens", "is missing");
  return advice_for(model, *tokens, fields.integer("reply", 0, kMostAdvisedTokens).value_or(1024));
}

}  // namespace longhaul::serve
