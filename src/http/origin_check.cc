#include "http/origin_check.h"

#include <arpa/inet.h>

#include <algorithm>

namespace longhaul::http {
namespace {

/// A numeric address cannot be another page's name.
bool is_ip_literal(std::string_view host) {
  unsigned char bytes[16];
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), bytes) == 1;
  }
  return inet_pton(AF_INET, std::string(host).c_str(), bytes) == 1;
}

std::string_view host_of_origin(std::string_view origin) {
  const size_t slashes = origin.find("://");
  return slashes == std::string_view::npos ? std::string_view() : origin.substr(slashes + 3);
}

}  // namespace

std::string_view host_without_port(std::string_view host) {
  const size_t colon = host.rfind(':');
  const size_t bracket = host.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) {
    return host;
  }
  return host.substr(0, colon);
}

OriginCheck::OriginCheck(std::vector<std::string> names, std::vector<std::string> origins)
    : names_(std::move(names)), origins_(std::move(origins)) {}

bool OriginCheck::own_host(std::string_view host) const {
  const std::string_view name = host_without_port(host);
  if (equal_but_case(name, "localhost") || is_ip_literal(name)) return true;
  return std::any_of(names_.begin(), names_.end(),
                     [&](const std::string& own) { return equal_but_case(own, name); });
}

/// Whether the page is this server's own, or one that the user has allowed.
bool OriginCheck::allowed_origin(const HttpRequest& request) const {
  const std::string_view origin = request.field("Origin");
  if (origin.empty()) return true;
  const std::string_view host = host_of_origin(origin);
  if (!host.empty() && equal_but_case(host, request.field("Host"))) return true;
  return std::any_of(origins_.begin(), origins_.end(),
                     [&](const std::string& known) { return known == "*" || known == origin; });
}

std::optional<HttpResponse> OriginCheck::refusal(const HttpRequest& request) const {
  // A client of HTTP/1.0 may leave Host out; a browser never does.
  if (request.count("Host") > 0 && !own_host(request.field("Host"))) {
    return error_response(403, "permission_error", "host_not_allowed",
                          "the Host field names another server than this one; --allow-host NAME "
                          "allows a further name");
  }
  if (!allowed_origin(request)) {
    return error_response(403, "permission_error", "origin_not_allowed",
                          "pages of this origin may not use this server; --cors-origin URL allows "
                          "one");
  }
  return std::nullopt;
}

Fields OriginCheck::reply_fields(const HttpRequest& request) const {
  const std::string_view origin = request.field("Origin");
  if (origin.empty()) return {};
  // Only names that the user has given are sent back, never the text of the request.
  for (const std::string& known : origins_) {
    if (known == "*" || known == origin) {
      return {{"Access-Control-Allow-Origin", known}, {"Vary", "Origin"}};
    }
  }
  return {};
}

HttpResponse OriginCheck::preflight(const HttpRequest& request) const {
  HttpResponse response;
  response.status = 204;
  response.fields = reply_fields(request);
  if (response.fields.empty()) return response;
  response.fields.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE");
  response.fields.emplace_back("Access-Control-Allow-Headers",
                               "Authorization, Content-Type, X-Api-Key, X-Session-Id, "
                               "X-Conversation-Id");
  response.fields.emplace_back("Access-Control-Max-Age", "600");
  return response;
}

}  // namespace longhaul::http
