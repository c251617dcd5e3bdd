#pragma once
// HTTP by libcurl, which is opened when it is first needed: programs that fetch nothing do not load
// it. Proxies are those of the environment (https_proxy, no_proxy, ...).

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"

namespace longhaul {

struct HttpRequest {
  std::string url;
  std::string token;     ///< sent as a bearer to the url's own host only, not where it redirects to
  int64_t begin = 0;     ///< first byte that is wanted
  std::string if_match;  ///< the entity tag (ETag) of the file whose rest is wanted
  const CancelFlag* cancel = nullptr;
};

struct HttpResponse {
  long status = 0;  ///< of the last answer
  std::map<std::string, std::string>
      headers;          ///< lower-case names; of several answers the last counts
  std::string problem;  ///< why the transfer broke off; empty: it did not
  bool refused_by_sink = false;
  bool cancelled = false;
};

/// Receives the bytes as they arrive. Returns false to end the transfer.
using HttpSink = std::function<bool(long status, std::span<const std::byte> bytes)>;

/// Follows up to 10 redirects; http and https only, and not from https to http. Throws UserError
/// when there is no libcurl. Failures of the transfer are in HttpResponse::problem.
HttpResponse http_get(const HttpRequest& request, const HttpSink& sink);

/// A whole answer of at most `most` bytes.
HttpResponse http_get_text(const HttpRequest& request, size_t most, std::string& text);

/// `text` as a part of a URL's path; slashes stay.
std::string url_escape(const std::string& text);

}  // namespace longhaul
