#pragma once
// Sends HTTP requests by libcurl. The library is loaded on first use, so that commands without
// downloads do not need it. Environment variables such as https_proxy and no_proxy set proxies.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"

namespace longhaul {

/// Limits of a transfer. A transfer that is slower fails.
struct HttpLimits {
  int64_t bytes_per_second = 4096;  ///< least average speed during any `seconds` seconds
  int64_t seconds = 60;
  int64_t all_seconds = 0;  ///< longest time of the whole transfer; 0: no limit
};

struct HttpRequest {
  std::string url;
  /// Bearer token for authorization. It is sent only to the host of the URL, and not to hosts to
  /// which the server redirects.
  std::string token;
  int64_t begin = 0;     ///< offset of the first requested byte
  std::string if_match;  ///< entity tag (ETag) of the file whose rest is requested
  HttpLimits limits = {};
  const CancelFlag* cancel = nullptr;
};

struct HttpResponse {
  long status = 0;  ///< HTTP status of the last response, after redirects
  /// Headers of the last response; lower-case names, at most 256 KiB.
  std::map<std::string, std::string> headers;
  std::string problem;  ///< reason why the transfer failed; empty: it did not fail
  bool refused_by_sink = false;
  bool cancelled = false;
};

/// Receives bytes of the body as they arrive. `head` has the status and the headers of the
/// response. If the function returns false, the transfer ends and HttpResponse::refused_by_sink is
/// true.
using HttpSink = std::function<bool(const HttpResponse& head, std::span<const std::byte> bytes)>;

/// Requests a URL. Follows up to 10 redirects, but none from https to http. Throws UserError if
/// libcurl is not installed. Failures of the transfer are reported in HttpResponse::problem.
HttpResponse http_get(const HttpRequest& request, const HttpSink& sink);

/// Requests a URL and stores the whole response in `text`. The response may have at most `most`
/// bytes and take at most five minutes.
HttpResponse http_get_text(const HttpRequest& request, size_t most, std::string& text);

/// Returns `text` escaped for the path of a URL. Slashes are kept.
std::string url_escape(const std::string& text);

}  // namespace longhaul
