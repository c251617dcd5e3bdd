#pragma once
// Service handles all requests to the server. It checks the origin and the API key of a request,
// and calls the function that responds to the path.

#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "http/connection.h"
#include "http/origin_check.h"
#include "http/router.h"
#include "serve/api/request.h"
#include "serve/api_keys.h"
#include "serve/documents/document_api.h"
#include "serve/metrics.h"
#include "serve/reply_streams.h"
#include "serve/served_model.h"
#include "serve/text_pool.h"

namespace longhaul::serve {

struct ServiceOptions {
  http::OriginCheck origins{{}, {}};
  ApiKeys keys;  ///< empty: no key is required
  bool vllm_metrics = false, llamacpp_metrics = false;
  bool web = true;  ///< whether the web page is served at /
  int text_threads = 2;
  /// The process that converts documents. If it is null, only plain texts can be added as
  /// documents.
  std::shared_ptr<const ConverterProcess> converter;
  std::function<void(const std::string& line)> log;  ///< receives lines of the log; may be null
};

class Service {
 public:
  explicit Service(ServiceOptions options);
  ~Service();

  /// Sets the model and starts responding to requests. Until then, requests get status 503 "Loading
  /// model".
  void set_model(std::shared_ptr<ServedModel> model);
  std::shared_ptr<ServedModel> model() const;
  void shut_down() { shutting_down_ = true; }

  // The following functions are callbacks of http::ServerOptions.
  std::optional<http::HttpResponse> check(const http::HttpRequest& request,
                                          http::Fields& reply_fields);
  void handle(const std::shared_ptr<http::Exchange>& exchange);
  void done(const http::RequestRecord& record);

  const http::Router& router() const { return router_; }
  Metrics& metrics() { return metrics_; }

 private:
  enum class Health : uint8_t { kUsual, kReady, kLive };

  /// Computes the response of a path, or throws ApiError.
  using Page = std::function<Json(const ServedModel&, const http::HttpRequest&)>;

  std::optional<http::HttpResponse> refusal(const http::HttpRequest& request,
                                            http::Fields& reply_fields);
  void add_routes();
  void add_session_routes();
  void add_responses_routes();
  void add_ollama_routes();
  /// Like Page, with the name of the API key. It is used for paths whose response has data of a
  /// client.
  using OwnPage =
      std::function<Json(const ServedModel&, const http::HttpRequest&, const std::string& key)>;

  void add_page(const char* method, const char* path, Page page);
  void add_own_page(const char* method, const char* path, OwnPage page);
  void add_generation(const char* path, Api api);
  void log_once(const std::string& note);
  void generate(const std::shared_ptr<http::Exchange>& exchange, Api api);
  void answer_text(const std::shared_ptr<http::Exchange>& exchange,
                   std::function<http::HttpResponse()> make);
  http::HttpResponse health(Health kind) const;
  std::shared_ptr<ServedModel> ready_model() const;
  std::string key_name(const http::HttpRequest& request) const;

  ServiceOptions options_;
  http::Router router_;
  Metrics metrics_;
  ReplyStreams streams_;
  mutable std::mutex mutex_;
  /// Start of the service in Unix time.
  const std::string started_ = std::to_string(std::time(nullptr));
  std::set<std::string> noted_;  ///< notes that have already been logged
  std::shared_ptr<ServedModel> model_;
  std::atomic<bool> shutting_down_ = false;
  std::unique_ptr<DocumentApi> documents_;
  TextPool texts_;  // declared last, because its tasks use all other members
};

}  // namespace longhaul::serve
