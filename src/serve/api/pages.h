#pragma once
// Computes the responses of paths that generate no text. Each function computes the JSON of one
// path, and throws ApiError if the request is invalid.

#include "http/message.h"
#include "http/router.h"
#include "serve/api/json_text.h"
#include "serve/served_model.h"

namespace longhaul::serve {

Json models_page(const ServedModel& model, const http::HttpRequest& request);
Json model_page(const ServedModel& model, const http::HttpRequest& request);
Json props_page(const ServedModel& model, const http::HttpRequest& request);
/// Lists the LoRA adapters that clients may name, in llama-server's JSON form.
Json lora_adapters_page(const ServedModel& model, const http::HttpRequest& request);
Json slots_page(const ServedModel& model, const http::HttpRequest& request);
Json methods_page(const ServedModel& model, const http::HttpRequest& request);
Json forecast_page(const ServedModel& model, const http::HttpRequest& request);
/// Responds to a request for advice about the attention method. `key` is the name of the API key.
/// The request may name documents of this key.
Json advise_page(const ServedModel& model, const http::HttpRequest& request,
                 const std::string& key);
/// Returns the recommended attention method for a text of `tokens` tokens and a reply of `reply`
/// tokens. Also returns a table with one row for each method.
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
