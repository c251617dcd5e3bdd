#pragma once
// A document of a client: its text and the state of its prefill.

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

/// The text of a document, which never changes. Forks of the document share it.
struct DocumentText {
  explicit DocumentText(Document converted, std::vector<std::string> remarks = {})
      : document(std::move(converted)), warnings(std::move(remarks)), places(document.text) {}

  Document document;
  std::vector<std::string> warnings;
  TextPlaces places;
};

enum class DocumentStatus : uint8_t { kConverting, kQueued, kReading, kReady, kFailed };
std::string_view name_of(DocumentStatus status);

/// Properties that the client specified when it added a document.
struct DocumentWish {
  std::string name;
  std::string attention;  ///< attention method in the syntax of `--attention`
  std::string system;     ///< system message that precedes the document
  bool persist = false;
  /// Whether it is a file of /v1/files, which is converted but not prefilled.
  bool is_file = false;
  std::string purpose;  ///< "purpose" of a file
};

/// A document of the server. Members may be accessed only under the lock of the store, except those
/// that never change.
struct ServedDocument {
  // Members that never change.
  std::string id, key;
  int64_t created = 0;
  DocumentWish wish;
  std::shared_ptr<PrefillGate> gate = std::make_shared<PrefillGate>();

  DocumentStatus status = DocumentStatus::kConverting;
  std::shared_ptr<const DocumentText> text;  ///< null while the document is being converted
  std::vector<int32_t> tokens;  ///< the common prefix of all prompts about the document
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
