#pragma once
// Computes the responses of paths that generate no text. All functions throw ApiError.

#include "http/message.h"
#include "http/router.h"
#include "serve/api/json_text.h"
#include "serve/served_model.h"

namespace longhaul::serve {

Json models_page(const ServedModel& model, const http::HttpRequest& request);
Json model_page(const ServedModel& model, const http::HttpRequest& request);
Json props_page(const ServedModel& model, const http::HttpRequest& request);
/// Returns the adapters that clients may name, in llama-server's form.
Json lora_adapters_page(const ServedModel& model, const http::HttpRequest& request);
Json slots_page(const ServedModel& model, const http::HttpRequest& request);
Json methods_page(const ServedModel& model, const http::HttpRequest& request);
Json forecast_page(const ServedModel& model, const http::HttpRequest& request);
/// Responds to a request for advice. `key` is the name of the API key, whose documents the request
/// may name.
Json advise_page(const ServedModel& model, const http::HttpRequest& request,
                 const std::string& key);
/// Returns the recommended method for a text and a reply of these lengths, and a row for each
/// method.
Json advice_for(const ServedModel& model, int64_t tokens, int64_t reply);

Json tokenize_page(const ServedModel& model, const http::HttpRequest& request);
Json detokenize_page(const ServedModel& model, const http::HttpRequest& request);
Json apply_template_page(const ServedModel& model, const http::HttpRequest& request);
Json input_tokens_page(const ServedModel& model, const http::HttpRequest& request);
/// Responds to POST /v1/messages/count_tokens.
Json count_tokens_page(const ServedModel& model, const http::HttpRequest& request,
                       const std::string& key);
Json tokenizer_info_page(const ServedModel& model, const http::HttpRequest& request);

// Pages of the Responses API. `key` is the name of the API key.
Json response_page(const ServedModel& model, const http::HttpRequest& request,
                   const std::string& key);
Json delete_response_page(const ServedModel& model, const http::HttpRequest& request,
                          const std::string& key);
Json responses_input_tokens_page(const ServedModel& model, const http::HttpRequest& request,
                                 const std::string& key);

/// Returns the OpenAPI description of the paths of the router.
Json openapi(const http::Router& router);

}  // namespace longhaul::serve
