#pragma once
// A refusal on its way to a client.

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

/// A field that is wrong: 400, with its name.
template <class... Args>
[[noreturn]] void refuse_field(const std::string& param, fmt::format_string<Args...> format,
                               Args&&... args) {
  throw ApiError(400, "invalid_request_error", "invalid_value",
                 param + ": " + fmt::format(format, std::forward<Args>(args)...), param);
}

/// The forms in which APIs report errors.
enum class ErrorForm : uint8_t {
  kOpenAi,     ///< {"error": {"message", "type", "param", "code"}}
  kLlama,      ///< kOpenAi with names of llama-server
  kOllama,     ///< {"error": MESSAGE}
  kAnthropic,  ///< {"type": "error", "error": {"type", "message"}}
};
ErrorForm error_form_of(std::string_view path);

/// Returns the refusal in the form of an API. Responses without an error in kOpenAi are left as
/// they are.
http::HttpResponse in_error_form(http::HttpResponse response, ErrorForm form);

/// The member that holds the prompt in requests to this path. Empty: a file may hold it.
const char* prompt_member(std::string_view path);

/// {"error": {...}} as text. `prompt`: the member that a prompt that is too long is reported for.
/// `llama`: with the fields of llama-server.
std::string error_body(const ApiError& error);
std::string error_body(const JobError& error, const std::string& prompt, bool llama = false);

http::HttpResponse response_of(const ApiError& error);
http::HttpResponse response_of(const JobError& error, const std::string& prompt,
                               bool llama = false);

}  // namespace longhaul::serve
