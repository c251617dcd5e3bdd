#pragma once
// Finds the documents and files that a chat request names.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/documents/document.h"

namespace longhaul::serve {

/// A copy of those properties of a document that a request needs, and how the request uses the
/// document.
struct QuestionDocument {
  std::string id, attention, system;
  bool is_file = false;
  std::shared_ptr<const DocumentText> text;  ///< null while the document is being converted
  std::shared_ptr<PrefillGate> gate;
  std::optional<JobError> error;
  int64_t tokens = 0;  ///< number of tokens in ServedDocument::tokens
  bool cites = false;  ///< whether the reply may cite the document (serve/output/citations.h)
  /// Title that the client gave; empty: the name of the document, if any, is used.
  std::string title;
  int number = 0;  ///< index among the documents in the messages
};

/// Returns the file or document with this id. Throws ApiError if there is none. Throws
/// DocumentIsConverted if the document is still being converted.
using DocumentLookup = std::function<QuestionDocument(const std::string& id)>;

class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  /// Returns the document with this id. Throws ApiError with status 404 if there is none.
  virtual std::shared_ptr<ServedDocument> find(const std::string& key,
                                               const std::string& id) const = 0;
  virtual QuestionDocument look(const ServedDocument& document) const = 0;
  /// Returns the expected prefill time in seconds of a text of `tokens` tokens, of which each
  /// attends to at most `reach` earlier tokens. The result is empty until the server has measured
  /// its speed.
  virtual std::optional<double> seconds_to_read(int64_t tokens, int64_t reach) const = 0;
  /// Calls `task` when the conversion of the document has ended.
  virtual void when_converted(const std::shared_ptr<ServedDocument>& document,
                              std::function<void()> task) = 0;
};

/// Thrown by functions that read requests if a named document is still being converted. The caller
/// must read the request again when the conversion has ended.
struct DocumentIsConverted {
  std::shared_ptr<ServedDocument> document;
};

/// Returns the documents with these ids, in this order. Throws ApiError if a document does not
/// exist or has failed, and DocumentIsConverted if it is still being converted.
std::vector<QuestionDocument> question_documents(DocumentSource* source, const std::string& key,
                                                 const std::vector<std::string>& ids);

/// Returns a function that finds the files and documents of the API key `key`.
DocumentLookup lookup_of(DocumentSource* source, const std::string& key);

/// Returns the number of tokens in ServedDocument::tokens. Throws ApiError if there is no such
/// document or if it has no text yet.
int64_t tokens_of_document(DocumentSource* source, const std::string& key, const std::string& id);

}  // namespace longhaul::serve
