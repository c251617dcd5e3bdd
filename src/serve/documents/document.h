#pragma once
// Defines a document that a client has added: its text and the state of its prefill.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "documents/documents.h"
#include "engine/prefill_time.h"
#include "http/event_stream.h"
#include "serve/documents/text_places.h"
#include "serve/scheduler/prefill_gate.h"
#include "serve/scheduler/retention_map.h"

namespace longhaul::serve {

/// The converted text of a document. It never changes, and forks of the document share it.
struct DocumentText {
  explicit DocumentText(Document converted, std::vector<std::string> remarks = {})
      : document(std::move(converted)), warnings(std::move(remarks)), places(document.text) {}

  Document document;
  std::vector<std::string> warnings;
  TextPlaces places;
};

enum class DocumentStatus : uint8_t { kConverting, kQueued, kReading, kReady, kFailed };
std::string_view name_of(DocumentStatus status);

/// The properties that the client chose when it added the document.
struct DocumentWish {
  std::string name;
  std::string attention;  ///< attention method in the syntax of `--attention`
  std::string system;     ///< system message that precedes the document
  bool persist = false;
  /// Whether it was added by /v1/files. Such a file is converted to text, but not prefilled.
  bool is_file = false;
  std::string purpose;  ///< "purpose" of a file
};

/// A document of the server. Members that can change may be accessed only under the lock of the
/// store (DocumentStore::look() and change()).
struct ServedDocument {
  // Members that never change.
  std::string id, key;
  int64_t created = 0;
  DocumentWish wish;
  std::shared_ptr<PrefillGate> gate = std::make_shared<PrefillGate>();

  DocumentStatus status = DocumentStatus::kConverting;
  std::shared_ptr<const DocumentText> text;  ///< null while the document is being converted
  std::vector<int32_t> tokens;  ///< tokens with which every prompt about the document begins
  int64_t text_begin = 0;       ///< index of the first token of the document's text
  PromptProgress progress;
  std::optional<double> seconds_left;
  PrefillTime time{0};
  size_t kv_bytes = 0;
  std::optional<JobError> error;
  std::vector<std::string> warnings;
  std::shared_ptr<const RetentionMap> map;
  std::shared_ptr<Job> job;  ///< job of the prefill; null: there is none
  std::vector<std::shared_ptr<http::EventStream>> watchers;
  bool deleted = false;
  bool saved = false;  ///< whether the snapshot is also on disk (DocumentWish::persist)
};

}  // namespace longhaul::serve
