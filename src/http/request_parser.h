#pragma once
// RequestParser parses an HTTP request from the bytes that a client sends. It uses no sockets, so
// that it can be fuzzed.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/limits.h"
#include "http/message.h"

namespace longhaul::http {

/// The reason why a request is rejected: the status, code and message of the response.
struct Refusal {
  int status = 400;
  std::string code;
  std::string message;
};

class RequestParser {
 public:
  explicit RequestParser(const Limits& limits);
  ~RequestParser();

  enum class State {
    kHeader,      ///< the header is incomplete
    kHeaderRead,  ///< the header is complete; call read_body() to continue
    kBody,
    kDone,    ///< the request is complete; call take()
    kFailed,  ///< the request is invalid; refusal() returns the reason
  };
  State state() const { return state_; }

  /// Parses bytes and returns how many of them were consumed. If the request is complete, the other
  /// bytes belong to the next request. Otherwise they must be passed again in the next call,
  /// followed by new bytes.
  size_t put(std::string_view bytes);

  /// Returns the request without its body. It is complete from kHeaderRead on.
  const HttpRequest& header() const { return request_; }
  /// Returns whether the client will send the body only after it has received "100 Continue".
  bool expects_continue() const { return expects_continue_; }
  /// Returns the length of the body, or nothing if it is sent in chunks.
  std::optional<size_t> body_length() const { return body_length_; }
  size_t body_bytes() const;  ///< returns the number of body bytes received so far
  /// Must be called in the state kHeaderRead. Afterwards, put() parses the body.
  void read_body();

  HttpRequest take();
  const Refusal& refusal() const { return refusal_; }

 private:
  struct Body;

  void fail(int status, std::string code, std::string message);
  void refuse_large_body(size_t most);
  size_t put_header(std::string_view bytes);
  void parse_header(std::string_view header);
  bool check_lines(std::string_view header);
  bool check_fields();
  bool take_target(std::string_view target);
  size_t put_body(std::string_view bytes);

  const Limits& limits_;
  State state_ = State::kHeader;
  HttpRequest request_;
  Refusal refusal_;
  bool expects_continue_ = false;
  std::optional<size_t> body_length_;
  size_t most_body_ = 0;
  std::unique_ptr<Body> body_;
};

}  // namespace longhaul::http
