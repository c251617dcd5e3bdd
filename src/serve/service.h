#pragma once
// All paths of the server: who may use them, and what answers.

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
  ApiKeys keys;  ///< none: everybody may use everything
  bool vllm_metrics = false, llamacpp_metrics = false;
  bool web = true;  ///< the web page at /
  int text_threads = 2;
  std::shared_ptr<const ConverterProcess> converter;  ///< null: only texts can be added
  std::function<void(const std::string& line)> log;   ///< null: no lines
};

class Service {
 public:
  explicit Service(ServiceOptions options);
  ~Service();

  /// From now on requests are answered; before they get 503 "Loading model".
  void set_model(std::shared_ptr<ServedModel> model);
  std::shared_ptr<ServedModel> model() const;
  void shut_down() { shutting_down_ = true; }

  // For http::ServerOptions.
  std::optional<http::HttpResponse> check(const http::HttpRequest& request,
                                          http::Fields& reply_fields);
  void handle(const std::shared_ptr<http::Exchange>& exchange);
  void done(const http::RequestRecord& record);

  const http::Router& router() const { return router_; }
  Metrics& metrics() { return metrics_; }

 private:
  enum class Health : uint8_t { kUsual, kReady, kLive };

  /// Makes a path's answer, or throws ApiError.
  using Page = std::function<Json(const ServedModel&, const http::HttpRequest&)>;

  std::optional<http::HttpResponse> refusal(const http::HttpRequest& request,
                                            http::Fields& reply_fields);
  void add_routes();
  void add_session_routes();
  void add_responses_routes();
  void add_ollama_routes();
  /// Variant with the name of the API key, for pages about what a client has stored.
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
  const std::string started_ = std::to_string(std::time(nullptr));  ///< Unix time
  std::set<std::string> noted_;                                     ///< notes that are in the log
  std::shared_ptr<ServedModel> model_;
  std::atomic<bool> shutting_down_ = false;
  std::unique_ptr<DocumentApi> documents_;
  TextPool texts_;  // last: its tasks use all of the above
};

}  // namespace longhaul::serve
