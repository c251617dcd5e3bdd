#pragma once
// Decides whether a browser's page may use this server. A page whose name resolves to this address
// (DNS rebinding) sends GET requests without any Origin, so Host is checked first.

#include <optional>
#include <string>
#include <vector>

#include "http/message.h"

namespace longhaul::http {

class OriginCheck {
 public:
  /// `names`: host names of the server, in addition to loopback and any literal IP address.
  /// `origins`: pages of other hosts that may use it, such as "https://chat.example"; "*" means
  /// any.
  OriginCheck(std::vector<std::string> names, std::vector<std::string> origins);

  /// The refusal, if any.
  std::optional<HttpResponse> refusal(const HttpRequest& request) const;

  /// Fields that permit the page of this request to read the reply.
  Fields reply_fields(const HttpRequest& request) const;
  /// The answer to a browser's preflight request (OPTIONS).
  HttpResponse preflight(const HttpRequest& request) const;

 private:
  bool own_host(std::string_view host) const;
  bool allowed_origin(const HttpRequest& request) const;

  std::vector<std::string> names_, origins_;
};

/// "example.org:8080" -> "example.org"; "[::1]:80" -> "[::1]".
std::string_view host_without_port(std::string_view host);

}  // namespace longhaul::http
