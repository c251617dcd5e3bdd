#include "serve/web_page.h"

#include "serve/web_files.h"

namespace longhaul::serve {
namespace {

/// Whether a list such as "gzip, br;q=0.5" accepts gzip.
bool accepts_gzip(std::string_view list) {
  while (!list.empty()) {
    std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    while (part.starts_with(' ')) part.remove_prefix(1);
    const size_t end = std::min(part.find_first_of("; "), part.size());
    if (part.substr(0, end) != "gzip") continue;
    const std::string_view weight = part.substr(end);
    return weight.find("q=0") == std::string_view::npos ||
           weight.find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

const WebFile* web_file(std::string_view name) {
  for (const WebFile& file : web_files()) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

}  // namespace

http::HttpResponse web_response(const http::HttpRequest& request, std::string_view name) {
  const WebFile* file = web_file(name.empty() ? "index.html" : name);
  if (file == nullptr) {
    return http::error_response(404, "not_found_error", "not_found", "this path is not served");
  }
  http::HttpResponse response;
  response.content_type = file->type;
  response.fields = {{"ETag", std::string(file->etag)},
                     {"Cache-Control", "no-cache"},
                     {"Vary", "Accept-Encoding"},
                     {"Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'"},
                     {"Referrer-Policy", "no-referrer"}};
  if (request.field("If-None-Match").find(file->etag) != std::string_view::npos) {
    response.status = 304;
    return response;
  }
  const bool gzip = accepts_gzip(request.field("Accept-Encoding"));
  if (gzip) response.fields.emplace_back("Content-Encoding", "gzip");
  response.body = gzip ? file->gzip : file->plain;
  return response;
}

void add_web_page(http::Router& router) {
  const auto handler = [](std::string_view prefix) {
    return [prefix](const std::shared_ptr<http::Exchange>& exchange) {
      exchange->reply(
          web_response(exchange->request, exchange->request.path.substr(prefix.size())));
    };
  };
  router.add({"GET", "/", handler("/"), true});
  router.add({"GET", "/assets/{file}", handler("/assets/"), true});
}

}  // namespace longhaul::serve
