#pragma once
// A document of a client: its text, and the state of its prefill.

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

/// The text of a document, which does not change. Forks share it.
struct DocumentText {
  explicit DocumentText(Document converted, std::vector<std::string> remarks = {})
      : document(std::move(converted)), warnings(std::move(remarks)), places(document.text) {}

  Document document;
  std::vector<std::string> warnings;
  TextPlaces places;
};

enum class DocumentStatus : uint8_t { kConverting, kQueued, kReading, kReady, kFailed };
std::string_view name_of(DocumentStatus status);

/// The wishes of the client that added a document.
struct DocumentWish {
  std::string name;
  std::string attention;  ///< text of the method
  std::string system;     ///< system message before the document
  bool persist = false;
  bool is_file = false;  ///< a file of /v1/files: converted, but not prefilled
  std::string purpose;   ///< "purpose" of a file
};

/// Access only under the lock of the store that owns it, except for members that never change.
struct ServedDocument {
  // Never change.
  std::string id, key;
  int64_t created = 0;
  DocumentWish wish;
  std::shared_ptr<PrefillGate> gate = std::make_shared<PrefillGate>();

  DocumentStatus status = DocumentStatus::kConverting;
  std::shared_ptr<const DocumentText> text;  ///< null while it is converted
  std::vector<int32_t> tokens;               ///< the prefix that questions share
  int64_t text_begin = 0;                    ///< the first of them that belongs to the text
  PromptProgress progress;
  std::optional<double> seconds_left;
  PrefillTime time{0};
  size_t kv_bytes = 0;
  std::optional<JobError> error;
  std::vector<std::string> warnings;
  std::shared_ptr<const RetentionMap> map;
  std::shared_ptr<Job> job;  ///< the prefill; null: there is none
  std::vector<std::shared_ptr<http::EventStream>> watchers;
  bool deleted = false;
  bool saved = false;  ///< its snapshot is on disk too (DocumentWish::persist)
};

}  // namespace longhaul::serve
