#pragma once
// OriginCheck decides whether to accept a request that a web page sends. Browsers state the page's
// origin in the header field Origin. But a malicious page can make its own host name resolve to
// this server's address (DNS rebinding). The GET requests of this page then have no Origin. The
// field Host, which contains the host name, is therefore also checked.

#include <optional>
#include <string>
#include <vector>

#include "http/message.h"

namespace longhaul::http {

class OriginCheck {
 public:
  /// `names` are the permitted values of Host. Loopback names and IP addresses are always
  /// permitted. `origins` are the origins of other web pages that may use the server, such as
  /// "https://chat.example"; "*" means all pages.
  OriginCheck(std::vector<std::string> names, std::vector<std::string> origins);

  /// Returns the response that rejects the request, or nothing if it is accepted.
  std::optional<HttpResponse> refusal(const HttpRequest& request) const;

  /// Returns the header fields with which browsers permit the page of this request to read the
  /// response (CORS).
  Fields reply_fields(const HttpRequest& request) const;
  /// Returns the response to the OPTIONS request that a browser sends before the request of a page
  /// (preflight).
  HttpResponse preflight(const HttpRequest& request) const;

 private:
  bool own_host(std::string_view host) const;
  bool allowed_origin(const HttpRequest& request) const;

  std::vector<std::string> names_, origins_;
};

/// Removes the port: "example.org:8080" becomes "example.org", and "[::1]:80" becomes "[::1]".
std::string_view host_without_port(std::string_view host);

}  // namespace longhaul::http
