#include "hub/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "base/error.h"

namespace longhaul {
namespace {

/// The libcurl functions used here.
struct Curl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_setopt) setopt;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_getinfo) getinfo;
  decltype(&curl_easy_cleanup) cleanup;
  decltype(&curl_easy_strerror) strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;

  Curl() {
    void* library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      user_error(
          "libcurl is not installed, which fetches files (Debian: apt-get install libcurl4)");
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) user_error("libcurl has no {}", name);
    };
    find(global_init, "curl_global_init");
    find(easy_init, "curl_easy_init");
    find(setopt, "curl_easy_setopt");
    find(perform, "curl_easy_perform");
    find(getinfo, "curl_easy_getinfo");
    find(cleanup, "curl_easy_cleanup");
    find(strerror, "curl_easy_strerror");
    find(slist_append, "curl_slist_append");
    find(slist_free_all, "curl_slist_free_all");
    global_init(CURL_GLOBAL_DEFAULT);
  }

  static const Curl& instance() {
    static const Curl curl;
    return curl;
  }
};

constexpr long kConnectSeconds = 30;
constexpr size_t kMostHeaderBytes = size_t{256} << 10;
constexpr int64_t kSecondsOfText = 300;
constexpr long kMostRedirects = 10;

struct Transfer {
  const Curl& curl;
  CURL* handle;
  const HttpRequest& request;
  const HttpSink& sink;
  HttpResponse response;
  size_t header_bytes = 0;
};

size_t take_header(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  transfer.header_bytes += line.size();
  if (transfer.header_bytes > kMostHeaderBytes) return 0;
  if (line.starts_with("HTTP/")) transfer.response.headers.clear();  // another answer begins
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  std::string name(line.substr(0, colon));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  size_t begin = colon + 1, end = line.size();
  while (begin < end && (line[begin] == ' ' || line[begin] == '\t')) ++begin;
  while (end > begin && std::isspace(static_cast<unsigned char>(line[end - 1])) != 0) --end;
  transfer.response.headers[std::move(name)] = line.substr(begin, end - begin);
  return line.size();
}

size_t take_body(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.curl.getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &transfer.response.status);
  const size_t bytes = size * count;
  if (transfer.sink(transfer.response, {reinterpret_cast<const std::byte*>(data), bytes}))
    return bytes;
  transfer.response.refused_by_sink = true;
  return 0;
}

int look_for_cancel(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.response.cancelled = requested(transfer.request.cancel);
  return transfer.response.cancelled ? 1 : 0;
}

/// Sets the options of one transfer; the list of headers must outlive it.
void set_options(Transfer& t, curl_slist* headers) {
  const auto set = [&](CURLoption option, auto value) { t.curl.setopt(t.handle, option, value); };
  set(CURLOPT_URL, t.request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  const bool safe = t.request.url.starts_with("https:");
  set(CURLOPT_REDIR_PROTOCOLS_STR, safe ? "https" : "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kMostRedirects);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(t.request.limits.bytes_per_second));
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(t.request.limits.seconds));
  set(CURLOPT_TIMEOUT, static_cast<long>(t.request.limits.all_seconds));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "longhaul");
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_HEADERFUNCTION, take_header);
  set(CURLOPT_HEADERDATA, &t);
  set(CURLOPT_WRITEFUNCTION, take_body);
  set(CURLOPT_WRITEDATA, &t);
  set(CURLOPT_XFERINFOFUNCTION, look_for_cancel);
  set(CURLOPT_XFERINFODATA, &t);
  set(CURLOPT_NOPROGRESS, 0L);
}

std::string limits_text(const HttpLimits& limits) {
  std::string text =
      fmt::format("less than {} bytes/s for {} s", limits.bytes_per_second, limits.seconds);
  if (limits.all_seconds > 0) text += fmt::format(", or more than {} s", limits.all_seconds);
  return text;
}

}  // namespace

HttpResponse http_get(const HttpRequest& request, const HttpSink& sink) {
  const Curl& curl = Curl::instance();
  CURL* handle = curl.easy_init();
  if (handle == nullptr) user_error("libcurl cannot be started");
  Transfer transfer{curl, handle, request, sink, {}};
  curl_slist* headers = nullptr;
  const auto add = [&](const std::string& line) {
    headers = curl.slist_append(headers, line.c_str());
  };
  // libcurl does not send this header to other hosts named by a redirect.
  if (!request.token.empty()) add("Authorization: Bearer " + request.token);
  if (request.begin > 0) add(fmt::format("Range: bytes={}-", request.begin));
  if (request.begin > 0 && !request.if_match.empty()) add("If-Range: " + request.if_match);
  set_options(transfer, headers);
  const CURLcode code = curl.perform(handle);
  curl.getinfo(handle, CURLINFO_RESPONSE_CODE, &transfer.response.status);
  if (code != CURLE_OK) transfer.response.problem = curl.strerror(code);
  if (code == CURLE_OPERATION_TIMEDOUT && transfer.header_bytes > 0)
    transfer.response.problem = "the server is too slow: " + limits_text(request.limits);
  curl.cleanup(handle);
  curl.slist_free_all(headers);
  return std::move(transfer.response);
}

HttpResponse http_get_text(const HttpRequest& request, size_t most, std::string& text) {
  text.clear();
  HttpRequest limited = request;
  limited.limits.all_seconds = kSecondsOfText;
  return http_get(limited, [&](const HttpResponse&, std::span<const std::byte> bytes) {
    if (text.size() + bytes.size() > most) return false;
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  });
}

std::string url_escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~' || c == '/';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

}  // namespace longhaul
