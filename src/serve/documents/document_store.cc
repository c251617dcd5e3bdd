#include "serve/documents/document_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "serve/api/api_error.h"
#include "serve/api/reply_sink.h"
#include "text/printable.h"

namespace longhaul::serve {
namespace {

constexpr size_t kLongestId = 64;

int64_t now_in_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void refuse_unknown(const std::string& id) {
  throw ApiError(404, "not_found_error", "document_not_found",
                 fmt::format("there is no document {}", printable(id.substr(0, kLongestId))));
}

Json progress_of(const ServedDocument& document) {
  const PromptProgress& progress = document.progress;
  const auto read = static_cast<double>(progress.processed - progress.cached);
  Json json = {{"done", progress.processed},
               {"total", progress.total},
               {"cached", progress.cached},
               {"seconds", progress.seconds},
               {"seconds_left", nullptr},
               {"tokens_per_second", progress.seconds > 0 ? read / progress.seconds : 0}};
  if (document.seconds_left) json["seconds_left"] = *document.seconds_left;
  return json;
}

/// The state of a file in OpenAI's form.
Json file_json(const ServedDocument& file) {
  const bool failed = file.status == DocumentStatus::kFailed;
  const bool done = file.status == DocumentStatus::kReady;
  return {{"id", file.id},
          {"object", "file"},
          {"bytes", file.text ? Json(file.text->document.text.size()) : Json()},
          {"created_at", file.created},
          {"filename", file.wish.name},
          {"purpose", file.wish.purpose},
          {"status", failed ? "error"
                     : done ? "processed"
                            : "uploaded"},
          {"status_details", file.error ? Json(file.error->message) : Json()}};
}

Json document_json(const ServedDocument& document) {
  Json json = {{"id", document.id},
               {"object", "document"},
               {"created_at", document.created},
               {"name", document.wish.name},
               {"status", std::string(name_of(document.status))},
               {"made", document.text ? document.text->document.made : ""},
               {"attention", document.wish.attention},
               {"system", document.wish.system},
               {"persist", document.wish.persist},
               {"saved", document.saved}};
  const DocumentText* text = document.text.get();
  json["bytes"] = text != nullptr ? Json(text->document.text.size()) : Json();
  json["characters"] = text != nullptr ? Json(text->places.characters()) : Json();
  json["pages"] = text != nullptr ? Json(text->places.pages().size()) : Json();
  json["tokens"] = text != nullptr ? Json(document.tokens.size()) : Json();
  json["kv_bytes"] = document.status == DocumentStatus::kReady ? Json(document.kv_bytes) : Json();
  json["progress"] = text != nullptr ? progress_of(document) : Json();
  json["error"] = document.error ? json_of_error(*document.error) : Json();
  json["warnings"] = document.warnings;
  return json;
}

Json json_of(const ServedDocument& document) {
  return document.wish.is_file ? file_json(document) : document_json(document);
}

bool is_final(DocumentStatus status) {
  return status == DocumentStatus::kReady || status == DocumentStatus::kFailed;
}

}  // namespace

std::string_view name_of(DocumentStatus status) {
  constexpr std::string_view kNames[] = {"converting", "queued", "reading", "ready", "failed"};
  return kNames[static_cast<size_t>(status)];
}

JobError deleted_error(const std::string& id) {
  return {404, "not_found_error", "document_deleted",
          fmt::format("the document {} was deleted", id)};
}

Json json_of_error(const JobError& error) {
  Json json = Json::parse(error_body(error, ""))["error"];
  json["status"] = error.status;
  return json;
}

std::shared_ptr<ServedDocument> DocumentStore::add(const std::string& key, DocumentWish wish) {
  auto document = std::make_shared<ServedDocument>();
  document->id = random_id(wish.is_file ? "file-" : "doc_");
  document->key = key;
  document->created = now_in_seconds();
  document->wish = std::move(wish);
  const std::lock_guard lock(mutex_);
  if (documents_.size() >= limits_.documents) {
    throw ApiError(429, "rate_limit_error", "too_many_documents",
                   fmt::format("the server keeps {} documents already", documents_.size()));
  }
  documents_[document->id] = document;
  order_.push_back(document->id);
  count();
  return document;
}

void DocumentStore::add_existing(std::shared_ptr<ServedDocument> document) {
  const std::lock_guard lock(mutex_);
  order_.push_back(document->id);
  documents_[document->id] = std::move(document);
  count();
}

void DocumentStore::check_room(size_t text_bytes) const {
  const std::lock_guard lock(mutex_);
  size_t held = 0;
  for (const auto& [id, document] : documents_) {
    if (document->text) held += document->text->document.text.size();
  }
  if (held + text_bytes <= limits_.text_bytes) return;
  throw ApiError(429, "rate_limit_error", "too_many_documents",
                 "the server keeps too much text already: delete documents first");
}

std::shared_ptr<ServedDocument> DocumentStore::find_locked(const std::string& key,
                                                           const std::string& id) const {
  const auto found = documents_.find(id);
  return found != documents_.end() && found->second->key == key ? found->second : nullptr;
}

std::shared_ptr<ServedDocument> DocumentStore::find(const std::string& key, const std::string& id,
                                                    bool is_file) const {
  const std::lock_guard lock(mutex_);
  auto found = find_locked(key, id);
  if (!found || found->wish.is_file != is_file) refuse_unknown(id);
  return found;
}

std::shared_ptr<ServedDocument> DocumentStore::find_any(const std::string& key,
                                                        const std::string& id) const {
  const std::lock_guard lock(mutex_);
  auto found = find_locked(key, id);
  if (!found) refuse_unknown(id);
  return found;
}

std::shared_ptr<ServedDocument> DocumentStore::find_of_any_key(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = documents_.find(id);
  return found == documents_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<ServedDocument>> DocumentStore::list(const std::string& key,
                                                                 bool files) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ServedDocument>> listed;
  for (const std::string& id : order_) {
    const auto document = find_locked(key, id);
    if (document && document->wish.is_file == files) listed.push_back(document);
  }
  return listed;
}

std::shared_ptr<ServedDocument> DocumentStore::remove(const std::string& key, const std::string& id,
                                                      bool is_file) {
  const std::lock_guard lock(mutex_);
  auto document = find_locked(key, id);
  if (!document || document->wish.is_file != is_file) refuse_unknown(id);
  documents_.erase(id);
  std::erase(order_, id);
  document->deleted = true;
  const JobError error = deleted_error(id);
  document->gate->fail(error);
  if (document->job) document->job->cancel.request();
  for (const auto& events : document->watchers) {
    events->send(error_body(error, ""));
    events->send("[DONE]");
    events->finish();
  }
  document->watchers.clear();
  count();
  return document;
}

void DocumentStore::drop(ServedDocument& document) {
  const std::lock_guard lock(mutex_);
  document.deleted = true;
  documents_.erase(document.id);
  std::erase(order_, document.id);
  count();
}

bool DocumentStore::change(ServedDocument& document, const Change& change) {
  const std::lock_guard lock(mutex_);
  if (document.deleted) return false;
  const DocumentStatus before = document.status;
  change(document);
  tell_watchers(document);
  if (document.status != before) count();
  return true;
}

void DocumentStore::look(const ServedDocument& document,
                         const std::function<void(const ServedDocument&)>& look) const {
  const std::lock_guard lock(mutex_);
  look(document);
}

void DocumentStore::measured(const PrefillTime& time) {
  const std::lock_guard lock(mutex_);
  speed_ = time;
}

std::optional<double> DocumentStore::seconds_to_read(int64_t tokens, int64_t reach) const {
  const std::lock_guard lock(mutex_);
  if (!speed_) return std::nullopt;
  const double seconds = speed_->reading(tokens, reach);
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

Json DocumentStore::json(const ServedDocument& document) const {
  const std::lock_guard lock(mutex_);
  return json_of(document);
}

void DocumentStore::watch(ServedDocument& document, std::shared_ptr<http::EventStream> events) {
  const std::lock_guard lock(mutex_);
  if (document.deleted) {
    events->send(error_body(deleted_error(document.id), ""));
    events->send("[DONE]");
    events->finish();
    return;
  }
  document.watchers.push_back(std::move(events));
  tell_watchers(document);
}

/// Clients that do not read their events miss some of them, but never the last one.
void DocumentStore::tell_watchers(ServedDocument& document) {
  if (document.watchers.empty()) return;
  const std::string text = text_of(json_of(document));
  const bool last = is_final(document.status);
  std::erase_if(document.watchers, [&](const std::shared_ptr<http::EventStream>& events) {
    if (events->closed()) return true;
    if (last || !events->full()) events->send(text);
    if (!last) return false;
    events->send("[DONE]");
    events->finish();
    return true;
  });
}

void DocumentStore::count() const {
  size_t counts[5] = {};
  for (const auto& [id, document] : documents_) {
    if (!document->wish.is_file) ++counts[static_cast<size_t>(document->status)];
  }
  for (size_t i = 0; i < 5; ++i) {
    const auto status = static_cast<DocumentStatus>(i);
    metrics_.set("longhaul_documents", fmt::format("status=\"{}\"", name_of(status)),
                 static_cast<double>(counts[i]));
  }
}

}  // namespace longhaul::serve
