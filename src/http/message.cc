#include "http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace longhaul::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

}  // namespace

bool equal_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view HttpRequest::field(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (equal_but_case(key, name)) return value;
  }
  return {};
}

size_t HttpRequest::count(std::string_view name) const {
  return static_cast<size_t>(std::count_if(fields.begin(), fields.end(), [&](const auto& field) {
    return equal_but_case(field.first, name);
  }));
}

std::string HttpRequest::parameter(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const size_t equals = std::min(part.find('='), part.size());
    std::string decoded;
    if (part.substr(0, equals) != name) continue;
    if (!percent_decode(part.substr(std::min(part.size(), equals + 1)), decoded, true)) return {};
    return decoded;
  }
  return {};
}

bool percent_decode(std::string_view text, std::string& decoded, bool plus_is_space) {
  decoded.clear();
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return false;
    decoded += c;
  }
  return true;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 507:
      return "Insufficient Storage";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

HttpResponse error_response(int status, std::string_view type, std::string_view code,
                            std::string_view message) {
  nlohmann::ordered_json error;
  error["message"] = message;
  error["type"] = type;
  error["param"] = nullptr;
  error["code"] = code;
  HttpResponse response;
  response.status = status;
  nlohmann::ordered_json body;
  body["error"] = std::move(error);
  response.body = body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return response;
}

std::string response_header(const HttpResponse& response, long long length, bool keep_alive) {
  std::string header =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  if (!response.content_type.empty() && response.status != 204) {
    header += "Content-Type: " + response.content_type + "\r\n";
  }
  if (length >= 0 && response.status != 204 && response.status != 304) {
    header += fmt::format("Content-Length: {}\r\n", length);
  }
  if (length == -1) header += "Transfer-Encoding: chunked\r\n";
  header += keep_alive && length != -2 ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  for (const auto& [name, value] : response.fields) header += name + ": " + value + "\r\n";
  header += "X-Content-Type-Options: nosniff\r\n\r\n";
  return header;
}

}  // namespace longhaul::http
