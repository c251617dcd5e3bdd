#pragma once
// A request and a response as values, without sockets.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longhaul::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string path;   ///< percent-decoded, without the query
  std::string query;  ///< after the question mark, undecoded
  int version = 11;   ///< 10 or 11
  bool keep_alive = true;
  Fields fields;
  std::string body;
  std::string peer;  ///< address without the port; "unix" for a Unix socket

  /// The first field of this name, in any case; empty if there is none.
  std::string_view field(std::string_view name) const;
  size_t count(std::string_view name) const;
  /// A decoded value of the query; empty if there is none.
  std::string parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Fields fields;  ///< additional fields; they must not contain bytes from a client
};

/// "Not Found"; empty for a status without a name.
std::string_view reason_of(int status);

/// Whether two texts are equal except for the case of ASCII letters.
bool equal_but_case(std::string_view a, std::string_view b);

/// Replaces %41 and the like. Returns false for a broken escape or a NUL.
bool percent_decode(std::string_view text, std::string& decoded, bool plus_is_space = false);

/// A response whose body is an OpenAI error object with these members.
HttpResponse error_response(int status, std::string_view type, std::string_view code,
                            std::string_view message);

/// The bytes of a response before its body. `length`: that of the body; -1: a chunked stream; -2: a
/// stream that ends with the connection.
std::string response_header(const HttpResponse& response, long long length, bool keep_alive);

}  // namespace longhaul::http
