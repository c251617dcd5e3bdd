// POST /v1/advise: which method to try for a text of some length.

#include "engine/recommend.h"
#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"
#include "serve/api/pages.h"

namespace longhaul::serve {

Json advise_page(const ServedModel& model, const http::HttpRequest& request) {
  constexpr std::string_view kKnown[] = {"tokens", "reply"};
  const Json body = read_body(request.body, kKnown);
  const FieldReader fields(body);
  const auto tokens = fields.integer("tokens", 1, int64_t{1} << 32);
  if (!tokens) refuse_field("tokens", "is missing");
  const int64_t reply = fields.integer("reply", 0, int64_t{1} << 32).value_or(1024);
  // The server has one type of keys and values: another one is not advised.
  const auto fits = [&](const std::string& attention, const std::string& kv_type) {
    if (kv_type != model.kv_type) return false;
    const size_t bytes = model.port->most_bytes(MethodSpec::parse(attention), *tokens, reply);
    return model.port->fixed_bytes() + bytes <= model.memory_limit;
  };
  const auto best = recommend(model.engine->model().shape, *tokens + reply, model.session.chunk,
                              model.kv_type, fits);
  Json answer = {{"tokens", *tokens}, {"trained_context", model.trained()}};
  answer["attention"] = best ? Json(best->attention) : Json();
  answer["why"] = best ? best->why : "no method of this build reads this within the memory limit";
  return answer;
}

}  // namespace longhaul::serve
