#pragma once
// HTTP by libcurl, which is loaded on first use, so that programs without downloads do not load it.
// Proxies come from the environment (https_proxy, no_proxy, ...).

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"

namespace longhaul {

/// A transfer that is slower than these limits fails.
struct HttpLimits {
  int64_t bytes_per_second = 4096;  ///< least average over `seconds`
  int64_t seconds = 60;
  int64_t all_seconds = 0;  ///< most time for the whole transfer; 0: no limit
};

struct HttpRequest {
  std::string url;
  /// sent as a bearer token only to the url's own host, not to redirect targets
  std::string token;
  int64_t begin = 0;     ///< first byte requested
  std::string if_match;  ///< entity tag (ETag) of the file whose rest is requested
  HttpLimits limits = {};
  const CancelFlag* cancel = nullptr;
};

struct HttpResponse {
  long status = 0;  ///< status of the last response
  std::map<std::string, std::string>
      headers;          ///< headers of the last response; lower-case names, at most 256 KiB
  std::string problem;  ///< why the transfer failed; empty if it did not
  bool refused_by_sink = false;
  bool cancelled = false;
};

/// Receives the bytes as they arrive, with status and headers of their response. Returning false
/// ends the transfer.
using HttpSink = std::function<bool(const HttpResponse& head, std::span<const std::byte> bytes)>;

/// Follows up to 10 redirects; http and https only, and not from https to http. Throws UserError if
/// libcurl is not available. Transfer failures are in HttpResponse::problem.
HttpResponse http_get(const HttpRequest& request, const HttpSink& sink);

/// Fetches a whole response of at most `most` bytes, within five minutes.
HttpResponse http_get_text(const HttpRequest& request, size_t most, std::string& text);

/// `text` as a part of a URL's path; slashes are kept.
std::string url_escape(const std::string& text);

}  // namespace longhaul
