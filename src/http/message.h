#pragma once
// Defines HTTP requests and responses as data, independent of sockets.

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
  std::string peer;  ///< IP address of the client; "unix" for a Unix socket

  /// Returns the value of the first header field with this name. The case of the name is ignored.
  /// The result is empty if there is no such field.
  std::string_view field(std::string_view name) const;
  size_t count(std::string_view name) const;
  /// Returns the decoded value of a parameter in the query, or an empty text if there is no such
  /// parameter.
  std::string parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Fields fields;  ///< additional header fields; they must not contain bytes from a client
};

/// Returns the standard text for a status, such as "Not Found" for 404. The result is empty if
/// there is none.
std::string_view reason_of(int status);

/// Returns whether two strings are equal, ignoring the case of ASCII letters.
bool equal_but_case(std::string_view a, std::string_view b);

/// Decodes escapes such as %41. If `plus_is_space` is true, + becomes a space. Returns false if an
/// escape is invalid or is a NUL.
bool percent_decode(std::string_view text, std::string& decoded, bool plus_is_space = false);

/// Returns a response whose body is an error object of OpenAI's API with these members.
HttpResponse error_response(int status, std::string_view type, std::string_view code,
                            std::string_view message);

/// Returns the status line and the header fields of a response. `length` is the length of the body.
/// -1 means that the body is sent in chunks, and -2 that it ends when the connection is closed.
std::string response_header(const HttpResponse& response, long long length, bool keep_alive);

}  // namespace longhaul::http
