#pragma once
// Parses requests from bytes of a client. It uses no sockets, so it can be fuzzed.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/limits.h"
#include "http/message.h"

namespace longhaul::http {

/// The reason why a request is rejected, in the form that the client receives.
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
    kFailed,  ///< the request is invalid; see refusal()
  };
  State state() const { return state_; }

  /// Parses bytes. Returns how many bytes at the front were consumed. The others belong to the next
  /// request, or must be passed again together with the bytes that follow them.
  size_t put(std::string_view bytes);

  /// Returns the request without its body.
  const HttpRequest& header() const { return request_; }
  /// Returns whether the client waits for "100 Continue" before it sends the body.
  bool expects_continue() const { return expects_continue_; }
  /// Returns the length of the body, or nothing if it is sent in chunks.
  std::optional<size_t> body_length() const { return body_length_; }
  size_t body_bytes() const;  ///< returns the number of body bytes received so far
  /// Continues after the header. put() then parses the body.
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
