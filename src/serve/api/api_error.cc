#include "serve/api/api_error.h"

#include <cmath>

#include "serve/api/json_text.h"

namespace longhaul::serve {
namespace {

Json error_object(const std::string& message, const std::string& type, const std::string& param,
                  const std::string& code) {
  Json error;
  error["message"] = message;
  error["type"] = type;
  error["param"] = param.empty() ? Json() : Json(param);
  error["code"] = code;
  return error;
}

const char* anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

ErrorForm error_form_of(std::string_view path) {
  if (path.starts_with("/api/")) return ErrorForm::kOllama;
  if (path.starts_with("/v1/messages")) return ErrorForm::kAnthropic;
  return path == "/completion" || path == "/completions" ? ErrorForm::kLlama : ErrorForm::kOpenAi;
}

const char* prompt_member(std::string_view path) {
  if (path == "/v1/responses") return "input";
  if (path.ends_with("/completion") || path.ends_with("/api/generate")) return "prompt";
  if (path.ends_with("/completions"))
    return path.ends_with("chat/completions") ? "messages" : "prompt";
  return path.starts_with("/v1/documents") ? "" : "messages";
}

http::HttpResponse in_error_form(http::HttpResponse response, ErrorForm form) {
  const bool other = form == ErrorForm::kOllama || form == ErrorForm::kAnthropic;
  if (response.status < 400 || !other) return response;
  const Json body = Json::parse(response.body, nullptr, false);
  if (!body.is_object() || !body.contains("error") || !body["error"].is_object()) return response;
  const std::string message = body["error"].value("message", "");
  if (form == ErrorForm::kOllama) {
    response.body = text_of({{"error", message}});
  } else {
    const Json error = {{"type", anthropic_type(response.status)}, {"message", message}};
    response.body = text_of({{"type", "error"}, {"error", error}});
  }
  return response;
}

std::string error_body(const ApiError& error) {
  Json body;
  body["error"] = error_object(error.what(), error.type, error.param, error.code);
  return text_of(body);
}

std::string error_body(const JobError& error, const std::string& prompt, bool llama) {
  const bool too_long = error.code == "context_length_exceeded";
  Json object =
      error_object(error.message, llama && too_long ? "exceed_context_size_error" : error.type,
                   too_long ? prompt : "", error.code);
  if (too_long) {
    object["n_prompt_tokens"] = error.prompt_tokens;
    object["n_ctx"] = error.context;
  }
  if (error.code == "insufficient_memory") {
    object["needed"] = error.needed;
    object["limit"] = error.limit;
    object["fits"] = Json::array();
    for (const auto& [attention, bytes] : error.fits) {
      object["fits"].push_back({{"attention", attention}, {"bytes", bytes}});
    }
  }
  if (!error.formats.empty()) object["formats"] = error.formats;
  Json body;
  body["error"] = std::move(object);
  return text_of(body);
}

http::HttpResponse response_of(const ApiError& error) {
  http::HttpResponse response;
  response.status = error.status;
  response.body = error_body(error);
  return response;
}

http::HttpResponse response_of(const JobError& error, const std::string& prompt, bool llama) {
  http::HttpResponse response;
  response.status = error.status;
  response.body = error_body(error, prompt, llama);
  if (error.retry_after > 0) {
    response.fields.emplace_back("Retry-After",
                                 fmt::format("{:.0f}", std::ceil(error.retry_after)));
  }
  return response;
}

}  // namespace longhaul::serve
