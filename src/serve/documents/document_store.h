#pragma once
// The documents and files of all clients.

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
  size_t text_bytes = size_t{2} << 30;  ///< texts of all documents together
};

class DocumentStore {
 public:
  explicit DocumentStore(Metrics& metrics, StoreLimits limits = {})
      : metrics_(metrics), limits_(limits) {}

  using Change = std::function<void(ServedDocument&)>;

  /// Adds a document. Throws ApiError 429 if there are too many.
  std::shared_ptr<ServedDocument> add(const std::string& key, DocumentWish wish);
  /// Adds a document that existed before the server was restarted.
  void add_existing(std::shared_ptr<ServedDocument> document);
  /// Throws ApiError 404, in the same words whether the id is unknown, deleted, or of another key.
  std::shared_ptr<ServedDocument> find(const std::string& key, const std::string& id,
                                       bool is_file = false) const;
  /// A document or a file, for questions.
  std::shared_ptr<ServedDocument> find_any(const std::string& key, const std::string& id) const;
  /// A document of any key; null: there is none.
  std::shared_ptr<ServedDocument> find_of_any_key(const std::string& id) const;
  std::vector<std::shared_ptr<ServedDocument>> list(const std::string& key, bool files) const;
  /// Removes it and tells everybody who waits. Throws ApiError 404. Returns the removed document.
  std::shared_ptr<ServedDocument> remove(const std::string& key, const std::string& id,
                                         bool is_file);

  /// Removes a document that could not be added; does nothing if it was removed already.
  void drop(ServedDocument& document);

  /// Changes a document and sends its new state to the clients that watch it. Does nothing after
  /// its deletion. Returns whether it changed anything.
  bool change(ServedDocument& document, const Change& change);
  /// Calls `look` with the document under the lock.
  void look(const ServedDocument& document,
            const std::function<void(const ServedDocument&)>& look) const;
  /// Throws ApiError 429 if another text of this size is too much.
  void check_room(size_t text_bytes) const;

  /// Keeps the speed of a finished prefill of dense attention for forecasts.
  void measured(const PrefillTime& time);
  /// See DocumentSource.
  std::optional<double> seconds_to_read(int64_t tokens, int64_t reach) const;

  /// The document as clients see it.
  Json json(const ServedDocument& document) const;
  /// Sends the document's state now and at each change, until it is ready or has failed.
  void watch(ServedDocument& document, std::shared_ptr<http::EventStream> events);

 private:
  std::shared_ptr<ServedDocument> find_locked(const std::string& key, const std::string& id) const;
  void tell_watchers(ServedDocument& document);
  void count() const;

  Metrics& metrics_;
  StoreLimits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<ServedDocument>> documents_;
  std::vector<std::string> order_;  ///< ids, oldest first
  std::optional<PrefillTime> speed_;
};

/// The error of a document that was deleted while somebody waited for it.
JobError deleted_error(const std::string& id);
/// The error that ApiError and JobError become in a document object.
Json json_of_error(const JobError& error);

}  // namespace longhaul::serve
