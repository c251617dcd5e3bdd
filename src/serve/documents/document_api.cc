#include "serve/documents/document_api.h"

#include <cmath>
#include <set>

#include "base/error.h"
#include "serve/api/api_error.h"
#include "serve/api/field_reader.h"
#include "serve/api/pages.h"
#include "serve/documents/document_form.h"
#include "serve/documents/document_prompt.h"
#include "serve/documents/document_search.h"

namespace longhaul::serve {
namespace {

using http::HttpRequest;
using http::HttpResponse;

constexpr size_t kMostPassages = 100, kLongestSearch = 4096;

HttpResponse answer_with(const Json& json, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.body = serve::text_of(json);
  return response;
}

/// The part of the path behind /v1/documents/ or /v1/files/ up to the next slash.
std::string id_of(const HttpRequest& request) {
  const size_t begin = request.path.find('/', 4) + 1;
  return request.path.substr(begin, request.path.find('/', begin) - begin);
}

/// A number of the query; `usual` if it is absent. Throws ApiError.
int64_t number_parameter(const HttpRequest& request, const char* name, int64_t usual,
                         int64_t most) {
  const std::string text = request.parameter(name);
  if (text.empty()) return usual;
  const Json value = Json::parse(text, nullptr, false);
  return integer_of(value, name, 0, most);
}

ApiError not_ready(const std::string& what) {
  return {409, "invalid_request_error", "not_ready", what};
}

/// Runs `work` and answers with the problem, if there is one.
void answer_problems(const std::shared_ptr<http::Exchange>& exchange,
                     const std::function<void()>& work) {
  try {
    work();
  } catch (const ApiError& error) {
    exchange->reply(response_of(error));
  } catch (const RefusedPrompt& refused) {
    exchange->reply(response_of(refused.error, ""));
  } catch (const UserError& error) {
    exchange->reply(
        http::error_response(400, "invalid_request_error", "invalid_request", error.what()));
  } catch (const std::bad_alloc&) {
    exchange->reply(http::error_response(503, "server_error", "overloaded", "out of memory"));
  } catch (const std::exception& error) {
    exchange->reply(http::error_response(500, "server_error", "internal_error", error.what()));
  }
}

Json pages_json(const DocumentText& text) {
  Json pages = Json::array();
  const auto& places = text.places.pages();
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t end = i + 1 < places.size() ? places[i + 1].begin : text.places.characters();
    pages.push_back({{"page", places[i].page}, {"from", places[i].begin}, {"to", end}});
  }
  return pages;
}

}  // namespace

DocumentApi::DocumentApi(DocumentHost host, Metrics& metrics,
                         std::shared_ptr<const ConverterProcess> converter)
    : host_(std::move(host)),
      metrics_(metrics),
      store_(metrics),
      reader_(store_, std::move(converter)) {}

void DocumentApi::add(http::Router& router, const char* method, const char* path, Answer answer) {
  router.add({method, path, [this, answer](const ExchangePtr& exchange) {
                const bool added = host_.run([this, answer, exchange] {
                  answer_problems(exchange,
                                  [&] { exchange->reply((this->*answer)(exchange->request)); });
                });
                if (!added) {
                  exchange->reply(http::error_response(503, "server_error", "overloaded",
                                                       "too many requests wait to be read"));
                }
              }});
}

void DocumentApi::restore(const std::shared_ptr<ServedModel>& model,
                          const std::function<void(const std::string& line)>& log) {
  if (model->cache_folder.empty()) return;
  const auto files =
      std::make_shared<const DocumentFiles>(model->cache_folder, model->cache_fingerprint);
  std::vector<StoredDocument> stored = files->read([&](const std::string& problem) {
    metrics_.add("longhaul_cache_damaged_total", "");
    if (log) log(problem);
  });
  model->scheduler->on_pin_lost = [this](const std::string& id) { reader_.read_again(id); };
  reader_.keep_in(files);
  std::set<std::string> ids;
  for (StoredDocument& document : stored) {
    ids.insert(document.id);
    reader_.restore(model, std::move(document));
  }
  for (const auto& [pin, bytes] : model->scheduler->stored_pins()) {
    if (!ids.contains(pin)) model->scheduler->unpin(pin);  // it was deleted before a kill
  }
}

void DocumentApi::add_routes(http::Router& router) {
  for (const bool is_file : {false, true}) {
    http::Route route{"POST", is_file ? "/v1/files" : "/v1/documents",
                      [this, is_file](const ExchangePtr& exchange) { post(exchange, is_file); }};
    route.upload = true;
    router.add(std::move(route));
  }
  add(router, "GET", "/v1/documents", &DocumentApi::list_documents);
  router.add({"GET", "/v1/documents/{id}", [this](const ExchangePtr& exchange) {
                answer_problems(exchange, [&] {
                  if (exchange->request.parameter("stream") == "true") return stream(exchange);
                  exchange->reply(show_document(exchange->request));
                });
              }});
  add(router, "DELETE", "/v1/documents/{id}", &DocumentApi::delete_document);
  add(router, "GET", "/v1/documents/{id}/text", &DocumentApi::show_text);
  add(router, "GET", "/v1/documents/{id}/passages", &DocumentApi::show_passages);
  add(router, "GET", "/v1/documents/{id}/map", &DocumentApi::show_map);
  add(router, "POST", "/v1/documents/{id}/fork", &DocumentApi::fork_document);
  add(router, "GET", "/v1/documents/{id}/advise", &DocumentApi::show_advice);
  add(router, "GET", "/v1/files", &DocumentApi::list_files);
  add(router, "GET", "/v1/files/{id}", &DocumentApi::show_file);
  add(router, "GET", "/v1/files/{id}/content", &DocumentApi::show_file_text);
  add(router, "DELETE", "/v1/files/{id}", &DocumentApi::delete_file);
}

void DocumentApi::post(const ExchangePtr& exchange, bool is_file) {
  const bool added = host_.run([this, exchange, is_file] {
    answer_problems(exchange, [&] {
      const auto model = host_.model();
      const std::string key = host_.key_name(exchange->request);
      DocumentForm form = is_file ? read_file_form(exchange->request)
                                  : read_document_form(*model, exchange->request);
      if (form.wish.persist && !reader_.keeps_files()) {
        refuse_field("persist", "start the server with --cache-dir to keep documents");
      }
      if (form.text) {
        if (is_blank(*form.text)) {
          throw ApiError(422, "invalid_request_error", "no_text", "there is no text in it", "text");
        }
        Document document;
        document.name = form.wish.name;
        document.text = std::move(*form.text);
        store_.check_room(document.text.size());
        return add_document(exchange, key, std::move(form.wish),
                            std::make_shared<const DocumentText>(std::move(document)));
      }
      if (form.file_id) {
        const auto file = store_.find(key, *form.file_id, true);
        if (form.wish.name.empty()) form.wish.name = file->wish.name;
        return add_document(exchange, key, std::move(form.wish), text_of(*file));
      }
      const auto document = store_.add(key, std::move(form.wish));
      try {
        reader_.convert(model, document, {std::move(form.bytes), std::move(form.pages)}, exchange);
      } catch (...) {
        store_.drop(*document);
        throw;
      }
    });
  });
  if (!added) {
    exchange->reply(http::error_response(503, "server_error", "overloaded",
                                         "too many requests wait to be read"));
  }
}

/// Adds a document whose text is known.
void DocumentApi::add_document(const ExchangePtr& exchange, const std::string& key,
                               DocumentWish wish, std::shared_ptr<const DocumentText> text) {
  const auto document = store_.add(key, std::move(wish));
  try {
    reader_.prefill(host_.model(), document, std::move(text));
  } catch (...) {
    store_.drop(*document);
    throw;
  }
  exchange->reply(answer_with(store_.json(*document), 202));
}

void DocumentApi::stream(const ExchangePtr& exchange) {
  const auto document = named(exchange->request, false);
  store_.watch(*document, exchange->stream());
}

std::shared_ptr<ServedDocument> DocumentApi::named(const HttpRequest& request, bool is_file) const {
  return store_.find(host_.key_name(request), id_of(request), is_file);
}

std::shared_ptr<const DocumentText> DocumentApi::text_of(const ServedDocument& document) const {
  std::shared_ptr<const DocumentText> text;
  std::optional<JobError> error;
  store_.look(document, [&](const ServedDocument& seen) {
    text = seen.text;
    error = seen.error;
  });
  if (text) return text;
  if (error) throw ApiError(error->status, error->type, error->code, error->message);
  throw not_ready("the document is still being converted");
}

HttpResponse DocumentApi::list_documents(const HttpRequest& request) {
  Json list = Json::array();
  for (const auto& document : store_.list(host_.key_name(request), false)) {
    list.push_back(store_.json(*document));
  }
  return answer_with({{"object", "list"}, {"data", std::move(list)}});
}

HttpResponse DocumentApi::show_document(const HttpRequest& request) {
  return answer_with(store_.json(*named(request, false)));
}

HttpResponse DocumentApi::delete_document(const HttpRequest& request) {
  return remove(request, false);
}

HttpResponse DocumentApi::remove(const HttpRequest& request, bool is_file) {
  const auto document = store_.remove(host_.key_name(request), id_of(request), is_file);
  reader_.forget(document);
  if (!is_file) host_.model()->scheduler->unpin(document->id);
  return answer_with(
      {{"id", document->id}, {"object", is_file ? "file" : "document"}, {"deleted", true}});
}

HttpResponse DocumentApi::show_text(const HttpRequest& request) {
  const auto document = named(request, false);
  const auto text = text_of(*document);
  const std::string& bytes = text->document.text;
  const auto last = static_cast<int64_t>(text->places.characters());
  const int64_t from = number_parameter(request, "from", 0, last);
  const int64_t to = number_parameter(request, "to", last, last);
  if (to < from) refuse_field("to", "{} is before from, {}", to, from);
  const size_t begin = text->places.byte_of(bytes, static_cast<size_t>(from));
  const size_t end = text->places.byte_of(bytes, static_cast<size_t>(to));
  return answer_with({{"id", document->id},
                      {"characters", last},
                      {"from", from},
                      {"to", to},
                      {"text", bytes.substr(begin, end - begin)},
                      {"pages", pages_json(*text)}});
}

HttpResponse DocumentApi::show_passages(const HttpRequest& request) {
  const auto document = named(request, false);
  const auto text = text_of(*document);
  const std::string wanted = request.parameter("text");
  if (wanted.empty()) refuse_field("text", "is missing");
  if (wanted.size() > kLongestSearch) {
    refuse_field("text", "is longer than {} bytes", kLongestSearch);
  }
  const int64_t most = number_parameter(request, "limit", 20, kMostPassages);
  const std::string& bytes = text->document.text;
  const FoundPassages found = find_passages(bytes, wanted, static_cast<size_t>(most));
  Json list = Json::array();
  for (const ByteRange& range : found.ranges) {
    const size_t from = text->places.character_of(bytes, range.begin);
    const int64_t page = text->places.page_of(from);
    list.push_back({{"document", document->id},
                    {"page", page > 0 ? Json(page) : Json()},
                    {"from", from},
                    {"to", text->places.character_of(bytes, range.end)},
                    {"text", bytes.substr(range.begin, range.end - range.begin)}});
  }
  return answer_with({{"object", "list"}, {"exact", found.exact}, {"data", std::move(list)}});
}

HttpResponse DocumentApi::show_map(const HttpRequest& request) {
  const auto document = named(request, false);
  std::shared_ptr<const RetentionMap> map;
  int64_t text_begin = 0;
  bool ready = false;
  store_.look(*document, [&](const ServedDocument& seen) {
    map = seen.map;
    text_begin = seen.text_begin;
    ready = seen.status == DocumentStatus::kReady;
  });
  if (!ready || !map) throw not_ready("the document is not ready");
  Json layers = Json::array();
  const float* next = map->kept.data();
  for (int layer = 0; layer < map->layers; ++layer) {
    Json heads = Json::array();
    for (int head = 0; head < map->heads; ++head, next += map->bins) {
      Json bins = Json::array();
      for (int64_t bin = 0; bin < map->bins; ++bin) {
        bins.push_back(std::round(static_cast<double>(next[bin]) * 1000) / 1000);
      }
      heads.push_back(std::move(bins));
    }
    layers.push_back(std::move(heads));
  }
  return answer_with({{"id", document->id},
                      {"attention", document->wish.attention},
                      {"tokens", map->tokens},
                      {"text_from", text_begin},
                      {"text_to", map->tokens},
                      {"layers", map->layers},
                      {"heads", map->heads},
                      {"bins", map->bins},
                      {"kept", std::move(layers)}});
}

HttpResponse DocumentApi::fork_document(const HttpRequest& request) {
  const auto model = host_.model();
  const auto document = named(request, false);
  constexpr std::string_view kKnown[] = {"attention", "name"};
  const Json body = read_body(request.body, kKnown);
  const FieldReader fields(body);
  const auto attention = fields.text("attention");
  if (!attention || attention->empty()) refuse_field("attention", "is missing");
  DocumentWish wish = document->wish;
  wish.attention = checked_attention(*model, *attention);
  if (const auto name = fields.text("name"); name && !name->empty())
    wish.name = file_name_of(*name);
  const auto text = text_of(*document);
  const auto fork = store_.add(document->key, std::move(wish));
  try {
    reader_.prefill(model, fork, text);
  } catch (const RefusedPrompt& refused) {
    store_.drop(*fork);
    return response_of(refused.error, "");
  } catch (...) {
    store_.drop(*fork);
    throw;
  }
  return answer_with(store_.json(*fork), 202);
}

HttpResponse DocumentApi::show_advice(const HttpRequest& request) {
  const int64_t tokens = tokens_of_document(this, host_.key_name(request), id_of(request));
  const int64_t reply = number_parameter(request, "reply", 1024, int64_t{1} << 32);
  return answer_with(advice_for(*host_.model(), tokens, reply));
}

HttpResponse DocumentApi::list_files(const HttpRequest& request) {
  Json list = Json::array();
  for (const auto& file : store_.list(host_.key_name(request), true)) {
    list.push_back(store_.json(*file));
  }
  return answer_with({{"object", "list"}, {"data", std::move(list)}, {"has_more", false}});
}

HttpResponse DocumentApi::show_file(const HttpRequest& request) {
  return answer_with(store_.json(*named(request, true)));
}

HttpResponse DocumentApi::show_file_text(const HttpRequest& request) {
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = text_of(*named(request, true))->document.text;
  return response;
}

HttpResponse DocumentApi::delete_file(const HttpRequest& request) { return remove(request, true); }

std::shared_ptr<ServedDocument> DocumentApi::find(const std::string& key,
                                                  const std::string& id) const {
  return store_.find_any(key, id);
}

QuestionDocument DocumentApi::look(const ServedDocument& document) const {
  QuestionDocument question{document.id, document.wish.attention, document.wish.system,
                            document.wish.is_file};
  question.gate = document.gate;
  store_.look(document, [&](const ServedDocument& seen) {
    question.text = seen.text;
    question.error = seen.error;
    question.tokens = std::ssize(seen.tokens);
  });
  return question;
}

void DocumentApi::when_converted(const std::shared_ptr<ServedDocument>& document,
                                 std::function<void()> task) {
  reader_.when_converted(document, std::move(task));
}

}  // namespace longhaul::serve
