#pragma once
// Finds the documents that a request names.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/documents/document.h"

namespace longhaul::serve {

/// A document, and how a request uses it.
struct QuestionDocument {
  std::string id, attention, system;
  bool is_file = false;
  std::shared_ptr<const DocumentText> text;  ///< null while the document is being converted
  std::shared_ptr<PrefillGate> gate;
  std::optional<JobError> error;
  int64_t tokens = 0;  ///< length of the common prefix of prompts about the document
  bool cites = false;  ///< whether sentences of the reply cite it (serve/output/citations.h)
  /// Title that the client gave; empty: the name of the document, if any, is used.
  std::string title;
  int number = 0;  ///< index among the documents in the messages
};

/// Returns the file or document with an id. Throws ApiError and DocumentIsConverted.
using DocumentLookup = std::function<QuestionDocument(const std::string& id)>;

class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  /// Returns the document with this id. Throws ApiError with status 404.
  virtual std::shared_ptr<ServedDocument> find(const std::string& key,
                                               const std::string& id) const = 0;
  virtual QuestionDocument look(const ServedDocument& document) const = 0;
  /// Returns the expected prefill time in seconds of a text with this many tokens. Each token sees
  /// at most `reach` earlier tokens. The result is empty until the server has measured its speed.
  virtual std::optional<double> seconds_to_read(int64_t tokens, int64_t reach) const = 0;
  /// Calls `task` when the conversion of the document has ended.
  virtual void when_converted(const std::shared_ptr<ServedDocument>& document,
                              std::function<void()> task) = 0;
};

/// Thrown by functions that read requests. The request must be read again when the conversion of
/// the document has ended.
struct DocumentIsConverted {
  std::shared_ptr<ServedDocument> document;
};

/// Returns the documents with these ids, in this order. Throws ApiError if a document does not
/// exist or has failed, and DocumentIsConverted if it is still being converted.
std::vector<QuestionDocument> question_documents(DocumentSource* source, const std::string& key,
                                                 const std::vector<std::string>& ids);

/// Returns a function that finds files and documents of an API key.
DocumentLookup lookup_of(DocumentSource* source, const std::string& key);

/// Returns the number of tokens of the document's prefix. Throws ApiError if there is no such
/// document or if it has no text yet.
int64_t tokens_of_document(DocumentSource* source, const std::string& key, const std::string& id);

}  // namespace longhaul::serve
