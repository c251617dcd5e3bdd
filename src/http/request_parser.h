#pragma once
// Converts bytes from a client to a request. It uses no socket, so that the same code is fuzzed.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/limits.h"
#include "http/message.h"

namespace longhaul::http {

/// The reason why a request is refused, in the form that the client receives.
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
    kHeader,      ///< the request is incomplete
    kHeaderRead,  ///< the body has not been read: header() is valid, read_body() continues
    kBody,
    kDone,    ///< complete: call take()
    kFailed,  ///< refused: see refusal()
  };
  State state() const { return state_; }

  /// Returns the number of bytes at the front that were used. The others belong to the next
  /// request, or must be passed again together with the bytes that follow them.
  size_t put(std::string_view bytes);

  /// The header alone: method, path, query, fields.
  const HttpRequest& header() const { return request_; }
  /// Whether the client waits for "100 Continue" before it sends the body.
  bool expects_continue() const { return expects_continue_; }
  /// Length of the body; none if it arrives in chunks.
  std::optional<size_t> body_length() const { return body_length_; }
  size_t body_bytes() const;  ///< received so far
  /// Continues after the header. Afterwards put() reads the body.
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
