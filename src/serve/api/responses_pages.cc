// Paths of the Responses API that generate nothing.

#include "serve/api/api_error.h"
#include "serve/api/pages.h"
#include "serve/api/renamed_field.h"
#include "serve/api/response_store.h"
#include "serve/api/responses_request.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr std::string_view kResponsesPath = "/v1/responses/", kInputItems = "/input_items";

[[noreturn]] void no_response(const std::string& id) {
  throw ApiError(404, "invalid_request_error", "response_not_found",
                 fmt::format("this server does not have the response {} (any more)",
                             printable(id.substr(0, 64))),
                 "response_id");
}

}  // namespace

Json response_page(const ServedModel& model, const http::HttpRequest& request,
                   const std::string& key) {
  std::string id = request.path.substr(kResponsesPath.size());
  const bool items = id.ends_with(kInputItems);
  if (items) id.resize(id.size() - kInputItems.size());
  if (request.parameter("stream") == "true") {
    refuse_field("stream", "a response that has ended is not streamed again");
  }
  const auto entry = model.responses->find(key, id);
  if (entry == nullptr) no_response(id);
  if (!items) return Json::parse(entry->response);
  Json list = {{"object", "list"}, {"data", Json::parse(entry->input)}};
  list["has_more"] = false;
  return list;
}

Json delete_response_page(const ServedModel& model, const http::HttpRequest& request,
                          const std::string& key) {
  const std::string id = request.path.substr(kResponsesPath.size());
  if (!model.responses->erase(key, id)) no_response(id);
  return {{"id", id}, {"object", "response"}, {"deleted", true}};
}

Json responses_input_tokens_page(const ServedModel& model, const http::HttpRequest& request,
                                 const std::string& key) {
  std::vector<std::string_view> known = responses_members();
  known.emplace_back("model");
  const Json body = read_body(request.body, known);
  ResponsesConversation made = read_responses_conversation(model, body, key);
  size_t tokens = 0;
  renamed_field({{"messages", "input"}}, [&] {
    tokens = conversation_prompt(model, std::move(made.conversation), false).tokens.size();
  });
  return {{"object", "response.input_tokens"}, {"input_tokens", tokens}};
}

}  // namespace longhaul::serve
