#pragma once
// The documents that a request names.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/documents/document.h"

namespace longhaul::serve {

/// A document as a question uses it.
struct QuestionDocument {
  std::string id, attention, system;
  bool is_file = false;
  std::shared_ptr<const DocumentText> text;  ///< null while it is converted
  std::shared_ptr<PrefillGate> gate;
  std::optional<JobError> error;
  int64_t tokens = 0;  ///< length of the prefix that questions share
  bool cites = false;  ///< sentences of the reply cite it (serve/output/citations.h)
  std::string title;   ///< as the client calls it; empty: the document has a name, or none
  int number = 0;      ///< its index among the documents in the messages
};

/// Finds a file or a document by its id. Throws ApiError and DocumentIsConverted.
using DocumentLookup = std::function<QuestionDocument(const std::string& id)>;

class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  /// Throws ApiError 404.
  virtual std::shared_ptr<ServedDocument> find(const std::string& key,
                                               const std::string& id) const = 0;
  virtual QuestionDocument look(const ServedDocument& document) const = 0;
  /// Seconds in which the server reads a text of this many tokens, each of which sees at most
  /// `reach` tokens back; none before it has measured its speed.
  virtual std::optional<double> seconds_to_read(int64_t tokens, int64_t reach) const = 0;
  /// Calls `task` when the document is no longer being converted.
  virtual void when_converted(const std::shared_ptr<ServedDocument>& document,
                              std::function<void()> task) = 0;
};

/// Thrown by readers of requests: the request has to be read again after the conversion of a
/// document.
struct DocumentIsConverted {
  std::shared_ptr<ServedDocument> document;
};

/// The documents with these ids, in order. Throws ApiError, also for a document that failed, and
/// DocumentIsConverted.
std::vector<QuestionDocument> question_documents(DocumentSource* source, const std::string& key,
                                                 const std::vector<std::string>& ids);

/// Finds files and documents of a key.
DocumentLookup lookup_of(DocumentSource* source, const std::string& key);

/// Tokens of the document's prefix. Throws ApiError if there is no such document, or no text yet.
int64_t tokens_of_document(DocumentSource* source, const std::string& key, const std::string& id);

}  // namespace longhaul::serve
