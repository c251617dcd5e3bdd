#pragma once
// HTTP requests and responses as values, without sockets.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longhaul::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string path;   ///< percent-decoded, without the query
  std::string query;  ///< text after the question mark, not decoded
  int version = 11;   ///< 10 or 11: HTTP/1.0 or HTTP/1.1
  bool keep_alive = true;
  Fields fields;
  std::string body;
  std::string peer;  ///< address without the port; "unix" for a Unix socket

  /// Returns the first header field with this name, whose case is ignored. The result is empty if
  /// there is none.
  std::string_view field(std::string_view name) const;
  size_t count(std::string_view name) const;
  /// Returns the decoded value of a parameter in the query. The result is empty if there is none.
  std::string parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Fields fields;  ///< additional header fields; they must not contain bytes from a client
};

/// Returns the name of a status, such as "Not Found". The result is empty if the status has no
/// name.
std::string_view reason_of(int status);

/// Returns whether two strings are equal if the case of ASCII letters is ignored.
bool equal_but_case(std::string_view a, std::string_view b);

/// Decodes escapes such as %41. Returns false if an escape is invalid or yields a NUL.
bool percent_decode(std::string_view text, std::string& decoded, bool plus_is_space = false);

/// Returns a response whose body is an OpenAI error object with these members.
HttpResponse error_response(int status, std::string_view type, std::string_view code,
                            std::string_view message);

/// Returns the bytes of a response before its body. `length` is the length of the body. -1 means a
/// chunked stream, and -2 a stream that ends with the connection.
std::string response_header(const HttpResponse& response, long long length, bool keep_alive);

}  // namespace longhaul::http
