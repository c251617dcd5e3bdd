#pragma once
// Whether a browser's page may reach this server. A page whose name leads to this address (DNS
// rebinding) sends GET requests without any Origin, so that Host is checked before anything else.

#include <optional>
#include <string>
#include <vector>

#include "http/message.h"

namespace longhaul::http {

class OriginCheck {
 public:
  /// `names`: hosts under which the server may be addressed, beside loopback and any literal IP
  /// address. `origins`: pages of other hosts that may use it, such as "https://chat.example"; "*"
  /// stands for any.
  OriginCheck(std::vector<std::string> names, std::vector<std::string> origins);

  /// The refusal, or nothing.
  std::optional<HttpResponse> refusal(const HttpRequest& request) const;

  /// Fields by which the browser lets the page of this request read the reply.
  Fields reply_fields(const HttpRequest& request) const;
  /// The answer to a browser's question before its request (OPTIONS).
  HttpResponse preflight(const HttpRequest& request) const;

 private:
  bool own_host(std::string_view host) const;
  bool allowed_origin(const HttpRequest& request) const;

  std::vector<std::string> names_, origins_;
};

/// "example.org:8080" -> "example.org"; "[::1]:80" -> "[::1]".
std::string_view host_without_port(std::string_view host);

}  // namespace longhaul::http
