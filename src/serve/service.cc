#include "serve/service.h"

#include <fmt/format.h>

#include "base/error.h"
#include "http/multipart.h"
#include "serve/api/api_error.h"
#include "serve/api/ollama.h"
#include "serve/api/pages.h"
#include "serve/api/reply_sink.h"
#include "serve/api/session_pages.h"
#include "serve/api/writers.h"
#include "serve/web_page.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

using http::Exchange;
using http::HttpRequest;
using http::HttpResponse;

constexpr size_t kMostTexts = 256;

HttpResponse json_response(const Json& json) {
  HttpResponse response;
  response.body = text_of(json);
  return response;
}

/// Runs `make` and turns every problem into an answer in the form of OpenAI's API.
HttpResponse guarded(const std::function<HttpResponse()>& make) {
  try {
    return make();
  } catch (const ApiError& error) {
    return response_of(error);
  } catch (const UserError& error) {
    return http::error_response(400, "invalid_request_error", "invalid_request", error.what());
  } catch (const std::bad_alloc&) {
    return http::error_response(503, "server_error", "overloaded", "out of memory");
  } catch (const std::exception& error) {
    return http::error_response(500, "server_error", "internal_error", error.what());
  }
}

bool is_json(const HttpRequest& request) {
  const std::string_view type = request.field("Content-Type");
  return http::equal_but_case(type.substr(0, type.find(';')), "application/json");
}

GenerationRequest read_request(Api api, const ServedModel& model, const HttpRequest& request,
                               const std::string& key) {
  switch (api) {
    case Api::kChat:
      return read_chat(model, request, key);
    case Api::kCompletions:
      return read_completions(model, request, key);
    case Api::kLlama:
      return read_llama_completion(model, request, key);
    case Api::kMessages:
      return read_messages(model, request, key);
    case Api::kResponses:
      return read_responses(model, request, key);
    case Api::kOllamaChat:
      return read_ollama_chat(model, request, key);
    case Api::kOllamaGenerate:
      return read_ollama_generate(model, request, key);
  }
  return {};
}

HttpResponse busy(const char* code, const char* message) {
  HttpResponse response = http::error_response(503, "server_error", code, message);
  response.fields.emplace_back("Retry-After", "5");
  return response;
}

HttpResponse too_many_texts() { return busy("overloaded", "too many requests wait to be read"); }

}  // namespace

Service::Service(ServiceOptions options)
    : options_(std::move(options)), texts_(options_.text_threads, kMostTexts) {
  documents_ = std::make_unique<DocumentApi>(
      DocumentHost{
          [this] { return ready_model(); },
          [this](const HttpRequest& request) { return key_name(request); },
          [this](std::function<void()> task) { return texts_.add(std::move(task)); },
      },
      metrics_, options_.converter);
  add_routes();
}

Service::~Service() { documents_->stop(); }

void Service::set_model(std::shared_ptr<ServedModel> model) {
  model->documents = documents_.get();
  documents_->restore(model, options_.log);
  const std::lock_guard lock(mutex_);
  model_ = std::move(model);
}

std::shared_ptr<ServedModel> Service::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

std::shared_ptr<ServedModel> Service::ready_model() const {
  auto model = this->model();
  if (!model) throw ApiError(503, "server_error", "loading", "Loading model");
  if (shutting_down_) {
    throw ApiError(503, "server_error", "shutting_down", "the server is shutting down");
  }
  return model;
}

std::string Service::key_name(const HttpRequest& request) const {
  const ApiKey* key = options_.keys.empty() ? nullptr : options_.keys.find(request);
  return key != nullptr ? key->name : "";
}

std::optional<HttpResponse> Service::check(const HttpRequest& request, http::Fields& reply_fields) {
  auto response = refusal(request, reply_fields);
  if (response) *response = in_error_form(std::move(*response), error_form_of(request.path));
  return response;
}

std::optional<HttpResponse> Service::refusal(const HttpRequest& request,
                                             http::Fields& reply_fields) {
  if (auto refusal = options_.origins.refusal(request)) return refusal;
  reply_fields = options_.origins.reply_fields(request);
  if (request.method == "OPTIONS") return options_.origins.preflight(request);
  std::string allow;
  const http::Route* route = router_.find(request.method, request.path, allow);
  if (route == nullptr && allow.empty()) {
    return http::error_response(404, "not_found_error", "not_found", "this path is not served");
  }
  if (route == nullptr) {
    HttpResponse response = http::error_response(405, "invalid_request_error", "method_not_allowed",
                                                 "the path has " + allow);
    response.fields.emplace_back("Allow", allow);
    return response;
  }
  if (!route->open && !options_.keys.empty() && options_.keys.find(request) == nullptr) {
    HttpResponse response = http::error_response(401, "authentication_error", "invalid_api_key",
                                                 "the API key is missing or wrong");
    response.fields.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  const bool has_form = route->upload && http::is_upload(request);
  if (request.method == "POST" && !is_json(request) && !has_form) {
    return http::error_response(415, "invalid_request_error", "unsupported_media_type",
                                std::string("the body has to be application/json") +
                                    (route->upload ? " or multipart/form-data" : ""));
  }
  return std::nullopt;
}

void Service::handle(const std::shared_ptr<Exchange>& exchange) {
  std::string allow;
  const http::Route* route = router_.find(exchange->request.method, exchange->request.path, allow);
  exchange->route = route->path;
  route->handler(exchange);
}

void Service::done(const http::RequestRecord& record) {
  metrics_.add("longhaul_requests_total",
               fmt::format("path=\"{}\",code=\"{}\"", record.route.empty() ? "other" : record.route,
                           record.status));
  if (!options_.log) return;
  options_.log(fmt::format("{} {} {} {} {:.1f}ms {}B{}{}{}", record.peer, one_line(record.method),
                           one_line(record.path), record.status, record.seconds * 1000,
                           record.bytes, record.complete ? "" : " closed by client",
                           record.note.empty() ? "" : " ", record.note));
}

/// Answers on a text thread.
void Service::answer_text(const std::shared_ptr<Exchange>& exchange,
                          std::function<HttpResponse()> make) {
  const ErrorForm form = error_form_of(exchange->request.path);
  const bool added = texts_.add([exchange, form, make = std::move(make)] {
    if (!exchange->closed()) exchange->reply(in_error_form(guarded(make), form));
  });
  if (!added) exchange->reply(in_error_form(too_many_texts(), form));
}

void Service::log_once(const std::string& note) {
  const std::lock_guard lock(mutex_);
  if (options_.log && noted_.insert(note).second) options_.log(note);
}

void Service::generate(const std::shared_ptr<Exchange>& exchange, Api api) {
  const ErrorForm form = error_form_of(exchange->request.path);
  const bool added = texts_.add([this, exchange, api, form] {
    if (exchange->closed()) return;
    const auto work = [&] {
      const auto model = ready_model();
      const std::string key = key_name(exchange->request);
      GenerationRequest request = read_request(api, *model, exchange->request, key);
      exchange->request.body = {};
      if (!request.note.empty()) log_once(request.note);
      if (request.ends_at_once != nullptr) return json_response(answer_at_once(request));
      request.run = [this](std::function<void()> task) { return texts_.add(std::move(task)); };
      const bool llama = request.api == Api::kLlama;
      const std::vector<std::shared_ptr<Job>> jobs = request.jobs;
      const auto client = request.stream ? streams_.keep(exchange, key) : exchange;
      const auto writer = make_writer(model, std::move(request), client);
      ReplyWriter::attach(writer);
      for (const auto& job : jobs) {
        const auto error = model->scheduler->submit(job);
        if (!error) continue;
        client->reply(
            in_error_form(response_of(*error, prompt_member(exchange->request.path), llama), form));
        for (const auto& other : jobs) other->cancel.request();
        break;
      }
      return HttpResponse();
    };
    HttpResponse answer;
    try {
      answer = guarded(work);
    } catch (const DocumentIsConverted& waits) {
      documents_->when_converted(waits.document,
                                 [this, exchange, api] { generate(exchange, api); });
    }
    if (answer.status != 200 || !answer.body.empty()) {
      exchange->reply(in_error_form(answer, form));
    }
  });
  if (!added) exchange->reply(in_error_form(too_many_texts(), form));
}

HttpResponse Service::health(Health kind) const {
  const auto now = model();
  if (!now) return http::error_response(503, "unavailable_error", "loading", "Loading model");
  constexpr double kStuck = 60;
  if (kind == Health::kLive && now->scheduler->seconds_since_turn() > kStuck) {
    return http::error_response(503, "server_error", "engine_stuck",
                                "the engine has made no step for a minute");
  }
  if (kind == Health::kReady && options_.converter && !documents_->can_convert()) {
    return busy("converter_unavailable",
                "documents cannot be converted: the process for it has ended");
  }
  if (kind != Health::kLive && shutting_down_)
    return busy("shutting_down", "the server is shutting down");
  return json_response({{"status", "ok"}});
}

void Service::add_page(const char* method, const char* path, Page page) {
  router_.add({method, path, [this, page = std::move(page)](const std::shared_ptr<Exchange>& e) {
                 answer_text(e, [this, e, page] {
                   return json_response(page(*ready_model(), e->request));
                 });
               }});
}

void Service::add_generation(const char* path, Api api) {
  router_.add(
      {"POST", path, [this, api](const std::shared_ptr<Exchange>& e) { generate(e, api); }});
}

void Service::add_own_page(const char* method, const char* path, OwnPage page) {
  router_.add({method, path, [this, page = std::move(page)](const std::shared_ptr<Exchange>& e) {
                 answer_text(e, [this, e, page] {
                   return json_response(page(*ready_model(), e->request, key_name(e->request)));
                 });
               }});
}

void Service::add_responses_routes() {
  for (const char* path : {"/v1/responses", "/responses"}) add_generation(path, Api::kResponses);
  for (const char* path : {"/v1/responses/input_tokens", "/responses/input_tokens"}) {
    add_own_page("POST", path, responses_input_tokens_page);
  }
  add_own_page("GET", "/v1/responses/{id}", response_page);
  add_own_page("DELETE", "/v1/responses/{id}", delete_response_page);
}

void Service::add_ollama_routes() {
  add_generation("/api/chat", Api::kOllamaChat);
  add_generation("/api/generate", Api::kOllamaGenerate);
  add_page("GET", "/api/tags", ollama_tags_page);
  add_page("GET", "/api/ps", ollama_ps_page);
  add_page("POST", "/api/show", ollama_show_page);
  router_.add({"GET", "/api/version", [](const std::shared_ptr<Exchange>& e) {
                 e->reply(json_response({{"version", kOllamaVersion}}));
               }});
  const std::pair<const char*, const char*> missing[] = {
      {"POST", "/api/pull"},    {"POST", "/api/push"},  {"POST", "/api/create"},
      {"POST", "/api/copy"},    {"POST", "/api/embed"}, {"POST", "/api/embeddings"},
      {"DELETE", "/api/delete"}};
  for (const auto& [method, path] : missing) {
    router_.add({method, path, [](const std::shared_ptr<Exchange>& e) {
                   e->reply(in_error_form(
                       http::error_response(501, "not_supported_error", "not_supported",
                                            "this server keeps the one model that it was started "
                                            "with, and makes no embeddings"),
                       ErrorForm::kOllama));
                 }});
  }
  std::string allow;
  if (router_.find("GET", "/", allow) != nullptr) return;  // the web page is there
  router_.add({"GET", "/",
               [](const std::shared_ptr<Exchange>& e) {
                 HttpResponse response;
                 response.content_type = "text/plain; charset=utf-8";
                 response.body = "Ollama is running";
                 e->reply(std::move(response));
               },
               true});
}

void Service::add_session_routes() {
  add_own_page("GET", "/v1/sessions",
               [](const ServedModel& model, const HttpRequest&, const std::string& key) {
                 return sessions_page(model, key);
               });
  static const std::string begin = "/v1/sessions/";
  add_own_page("DELETE", "/v1/sessions/{session}",
               [](const ServedModel& model, const HttpRequest& request, const std::string& key) {
                 return delete_session_page(model, key, request.path.substr(begin.size()));
               });
  for (const char* action : {"save", "restore", "fork"}) {
    const std::string path = begin + "{session}/" + action;
    add_own_page("POST", path.c_str(),
                 [action = std::string(action)](
                     const ServedModel& model, const HttpRequest& request, const std::string& key) {
                   const size_t end = request.path.size() - action.size() - 1;
                   const std::string name = request.path.substr(begin.size(), end - begin.size());
                   return session_action_page(model, request, key, name, action);
                 });
  }
  add_own_page("POST", "/slots/{id}",
               [](const ServedModel& model, const HttpRequest& request, const std::string& key) {
                 return slot_action_page(model, request, key,
                                         request.path.substr(std::string_view("/slots/").size()));
               });
}

void Service::add_routes() {
  for (const char* path : {"/v1/chat/completions", "/chat/completions"})
    add_generation(path, Api::kChat);
  add_generation("/v1/completions", Api::kCompletions);
  for (const char* path : {"/completion", "/completions"}) add_generation(path, Api::kLlama);
  add_generation("/v1/messages", Api::kMessages);
  add_own_page("POST", "/v1/messages/count_tokens", count_tokens_page);
  for (const char* path : {"/v1/models", "/models"}) add_page("GET", path, models_page);
  add_page("GET", "/v1/models/{model}", model_page);
  for (const char* path : {"/tokenize", "/v1/tokenize"}) add_page("POST", path, tokenize_page);
  for (const char* path : {"/detokenize", "/v1/detokenize"}) {
    add_page("POST", path, detokenize_page);
  }
  add_page("POST", "/apply-template", apply_template_page);
  for (const char* path : {"/v1/chat/completions/input_tokens", "/chat/completions/input_tokens"}) {
    add_page("POST", path, input_tokens_page);
  }
  add_page("GET", "/tokenizer_info", tokenizer_info_page);
  add_page("GET", "/props", props_page);
  add_page("GET", "/lora-adapters", lora_adapters_page);
  add_page("GET", "/slots", slots_page);
  add_session_routes();
  add_page("GET", "/v1/methods", methods_page);
  add_page("POST", "/v1/forecast", forecast_page);
  add_page("POST", "/v1/advise", [this](const ServedModel& model, const HttpRequest& request) {
    return advise_page(model, request, key_name(request));
  });
  const std::pair<const char*, Health> healths[] = {{"/health", Health::kUsual},
                                                    {"/v1/health", Health::kUsual},
                                                    {"/health/ready", Health::kReady},
                                                    {"/health/live", Health::kLive}};
  for (const auto& [path, kind] : healths) {
    router_.add({"GET", path,
                 [this, kind](const std::shared_ptr<Exchange>& e) { e->reply(health(kind)); },
                 true});
  }
  router_.add({"GET", "/metrics", [this](const std::shared_ptr<Exchange>& e) {
                 HttpResponse response;
                 response.content_type = "text/plain; version=0.0.4; charset=utf-8";
                 response.body = metrics_.text(options_.vllm_metrics, options_.llamacpp_metrics);
                 response.fields.emplace_back("Process-Start-Time-Unix", started_);
                 e->reply(std::move(response));
               }});
  router_.add({"GET", "/openapi.json", [this](const std::shared_ptr<Exchange>& e) {
                 e->reply(json_response(openapi(router_)));
               }});
  documents_->add_routes(router_);
  streams_.add_routes(router_, [this](const HttpRequest& request) { return key_name(request); });
  if (options_.web) add_web_page(router_);
  for (const char* path : {"/v1/embeddings", "/embeddings", "/embedding", "/v1/rerank", "/rerank",
                           "/v1/reranking", "/reranking", "/infill"}) {
    router_.add({"POST", path, [](const std::shared_ptr<Exchange>& e) {
                   e->reply(http::error_response(
                       501, "not_supported_error", "not_supported",
                       "this server answers with generative models: it makes no embeddings, no "
                       "ranking and fills nothing in"));
                 }});
  }
  add_responses_routes();
  add_ollama_routes();  // last: it looks at the path / of others
}

}  // namespace longhaul::serve
