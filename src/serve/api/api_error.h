#pragma once
// Defines the errors that the server reports to a client, and their JSON forms.

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "http/message.h"
#include "serve/scheduler/job.h"

namespace longhaul::serve {

class ApiError : public std::runtime_error {
 public:
  ApiError(int http_status, std::string of_type, std::string of_code, const std::string& message,
           std::string of_param = {})
      : std::runtime_error(message),
        status(http_status),
        type(std::move(of_type)),
        code(std::move(of_code)),
        param(std::move(of_param)) {}

  int status;
  std::string type, code, param;
};

/// Throws an ApiError with status 400 for a wrong member of a request. `param` is the name of the
/// member.
template <class... Args>
[[noreturn]] void refuse_field(const std::string& param, fmt::format_string<Args...> format,
                               Args&&... args) {
  throw ApiError(400, "invalid_request_error", "invalid_value",
                 param + ": " + fmt::format(format, std::forward<Args>(args)...), param);
}

/// The JSON forms in which the APIs report errors.
enum class ErrorForm : uint8_t {
  kOpenAi,     ///< {"error": {"message", "type", "param", "code"}}
  kLlama,      ///< like kOpenAi, with llama-server's names of error types
  kOllama,     ///< {"error": MESSAGE}
  kAnthropic,  ///< {"type": "error", "error": {"type", "message"}}
};
ErrorForm error_form_of(std::string_view path);

/// Returns the response with its error in the form of another API. A response without an error, or
/// with an error in a form other than kOpenAi, is returned unchanged.
http::HttpResponse in_error_form(http::HttpResponse response, ErrorForm form);

/// Returns the name of the member that holds the prompt in requests to this path, such as
/// "messages". The result is empty for /v1/documents, because a document can also be a file in the
/// body.
const char* prompt_member(std::string_view path);

/// Returns {"error": {...}} as JSON text. `prompt` is the result of prompt_member(); an error about
/// the length of the prompt names this member. If `llama` is true, the object has the members of
/// llama-server.
std::string error_body(const ApiError& error);
std::string error_body(const JobError& error, const std::string& prompt, bool llama = false);

http::HttpResponse response_of(const ApiError& error);
http::HttpResponse response_of(const JobError& error, const std::string& prompt,
                               bool llama = false);

}  // namespace longhaul::serve
