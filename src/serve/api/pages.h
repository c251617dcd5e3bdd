#pragma once
// Answers of paths that generate nothing. All throw ApiError.

#include "http/message.h"
#include "http/router.h"
#include "serve/api/json_text.h"
#include "serve/served_model.h"

namespace longhaul::serve {

Json models_page(const ServedModel& model, const http::HttpRequest& request);
Json model_page(const ServedModel& model, const http::HttpRequest& request);
Json props_page(const ServedModel& model, const http::HttpRequest& request);
Json slots_page(const ServedModel& model, const http::HttpRequest& request);
Json methods_page(const ServedModel& model, const http::HttpRequest& request);
Json forecast_page(const ServedModel& model, const http::HttpRequest& request);
/// `key`: name of the API key, whose documents may be named.
Json advise_page(const ServedModel& model, const http::HttpRequest& request,
                 const std::string& key);
/// The recommended method for a text and its reply, and a row for each method.
Json advice_for(const ServedModel& model, int64_t tokens, int64_t reply);

Json tokenize_page(const ServedModel& model, const http::HttpRequest& request);
Json detokenize_page(const ServedModel& model, const http::HttpRequest& request);
Json apply_template_page(const ServedModel& model, const http::HttpRequest& request);
Json input_tokens_page(const ServedModel& model, const http::HttpRequest& request);
/// POST /v1/messages/count_tokens.
Json count_tokens_page(const ServedModel& model, const http::HttpRequest& request,
                       const std::string& key);
Json tokenizer_info_page(const ServedModel& model, const http::HttpRequest& request);

// Pages of the Responses API. `key`: name of the API key.
Json response_page(const ServedModel& model, const http::HttpRequest& request,
                   const std::string& key);
Json delete_response_page(const ServedModel& model, const http::HttpRequest& request,
                          const std::string& key);
Json responses_input_tokens_page(const ServedModel& model, const http::HttpRequest& request,
                                 const std::string& key);

/// The OpenAPI description of the router's paths.
Json openapi(const http::Router& router);

}  // namespace longhaul::serve
