#pragma once
// Decides whether a web page may use this server. A malicious page can make its host name resolve
// to this server's address (DNS rebinding) and then sends GET requests without Origin. The Host
// field is therefore checked first.

#include <optional>
#include <string>
#include <vector>

#include "http/message.h"

namespace longhaul::http {

class OriginCheck {
 public:
  /// `names` are host names of the server. Loopback names and literal IP addresses are always
  /// accepted. `origins` are other pages that may use the server, such as "https://chat.example";
  /// "*" means all.
  OriginCheck(std::vector<std::string> names, std::vector<std::string> origins);

  /// Returns the response that rejects the request, or nothing if it is accepted.
  std::optional<HttpResponse> refusal(const HttpRequest& request) const;

  /// Returns the header fields that permit the page of this request to read the response.
  Fields reply_fields(const HttpRequest& request) const;
  /// Returns the response to a browser's preflight request (OPTIONS).
  HttpResponse preflight(const HttpRequest& request) const;

 private:
  bool own_host(std::string_view host) const;
  bool allowed_origin(const HttpRequest& request) const;

  std::vector<std::string> names_, origins_;
};

/// Removes the port: "example.org:8080" becomes "example.org", and "[::1]:80" becomes "[::1]".
std::string_view host_without_port(std::string_view host);

}  // namespace longhaul::http
