#pragma once
// Holds the documents and files of all clients.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/api/json_text.h"
#include "serve/documents/document.h"
#include "serve/metrics.h"

namespace longhaul::serve {

struct StoreLimits {
  size_t documents = 4096;
  size_t text_bytes = size_t{2} << 30;  ///< largest total size of the texts of all documents
};

class DocumentStore {
 public:
  explicit DocumentStore(Metrics& metrics, StoreLimits limits = {})
      : metrics_(metrics), limits_(limits) {}

  using Change = std::function<void(ServedDocument&)>;

  /// Adds a document. Throws ApiError with status 429 if the store already has
  /// StoreLimits::documents.
  std::shared_ptr<ServedDocument> add(const std::string& key, DocumentWish wish);
  /// Adds a document that was stored before the server was restarted.
  void add_existing(std::shared_ptr<ServedDocument> document);
  /// Returns the document (or the file, if `is_file`) with this id. Throws ApiError with status 404
  /// if there is none. The message does not reveal whether another API key has a document with this
  /// id.
  std::shared_ptr<ServedDocument> find(const std::string& key, const std::string& id,
                                       bool is_file = false) const;
  /// Returns the document or file with this id. Throws ApiError with status 404 if there is none.
  std::shared_ptr<ServedDocument> find_any(const std::string& key, const std::string& id) const;
  /// Returns the document with this id, whatever its API key is, or null if there is none.
  std::shared_ptr<ServedDocument> find_of_any_key(const std::string& id) const;
  std::vector<std::shared_ptr<ServedDocument>> list(const std::string& key, bool files) const;
  /// Removes a document and returns it. Requests that wait for the document fail. Throws ApiError
  /// with status 404 if there is no such document.
  std::shared_ptr<ServedDocument> remove(const std::string& key, const std::string& id,
                                         bool is_file);

  /// Removes a document that could not be added. Does nothing if it has already been removed.
  void drop(ServedDocument& document);

  /// Changes a document and sends its new state to the clients that watch it. Does nothing if the
  /// document has been deleted. Returns whether anything changed.
  bool change(ServedDocument& document, const Change& change);
  /// Calls `look` with the document while the lock of the store is held. `look` must not change it.
  void look(const ServedDocument& document,
            const std::function<void(const ServedDocument&)>& look) const;
  /// Throws ApiError with status 429 if there is no room for another text of this size.
  void check_room(size_t text_bytes) const;

  /// Records the time of a completed prefill with dense attention. seconds_to_read() uses it for
  /// its forecasts.
  void measured(const PrefillTime& time);
  /// Implements DocumentSource::seconds_to_read().
  std::optional<double> seconds_to_read(int64_t tokens, int64_t reach) const;

  /// Returns the JSON object with which the API describes the document.
  Json json(const ServedDocument& document) const;
  /// Sends the state of the document to `events` now and after each change, until the document is
  /// ready or has failed.
  void watch(ServedDocument& document, std::shared_ptr<http::EventStream> events);

 private:
  std::shared_ptr<ServedDocument> find_locked(const std::string& key, const std::string& id) const;
  void tell_watchers(ServedDocument& document);
  void count() const;

  Metrics& metrics_;
  StoreLimits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<ServedDocument>> documents_;
  std::vector<std::string> order_;  ///< ids, oldest document first
  std::optional<PrefillTime> speed_;
};

/// Returns the error for requests that wait for a document when it is deleted.
JobError deleted_error(const std::string& id);
/// Returns the member "error" of the JSON object of a document.
Json json_of_error(const JobError& error);

}  // namespace longhaul::serve
