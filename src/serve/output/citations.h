#pragma once
// Determines citations: the passages of documents on which a sentence of a reply is based. They are
// known as soon as the sentence has been written.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/passages.h"
#include "serve/api/request.h"

namespace longhaul::serve {

struct CitedPassage {
  const QuestionDocument* document = nullptr;
  std::string text;
  size_t from = 0, to = 0;  ///< range of characters of the document
  int64_t page = 0;         ///< page number; 0: the document has no pages
  double share = 0;         ///< share of the sentence's attention to the documents
};

struct Citation {
  ByteRange sentence;  ///< bytes of the sentence within its part of the reply
  std::vector<CitedPassage> passages;
};

class Citations {
 public:
  /// `documents` are in the order of the prompt.
  Citations(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
            std::vector<QuestionDocument> documents, double least_share);

  /// Returns the passages on which tokens [begin, end) of the reply are based, best first. The
  /// result is empty if no passage receives much more attention than the others.
  std::vector<CitedPassage> of(const SourceWatch& watch, std::span<const int32_t> reply,
                               size_t begin, size_t end) const;

 private:
  std::vector<QuestionDocument> documents_;
  std::unique_ptr<const PassageFinder> finder_;
  double least_share_;  ///< least share of a passage that is cited
};

/// Prepares a request for citations. Only documents in `request.documents` whose `cites` is true
/// are cited. Does nothing if there are none. The prompt of `job` must be set.
void request_citations(const ServedModel& model, GenerationRequest& request, Job& job);

/// Divides the text of a reply into sentences while it is written.
class SentenceSplitter {
 public:
  /// Appends text. Returns how many bytes at the start of `text` complete the open sentence, or
  /// npos if the sentence is still open.
  size_t push(std::string_view text);
  bool empty() const { return open_.empty(); }
  void clear() { open_.clear(); }

 private:
  std::string open_;  ///< text of the open sentence
};

}  // namespace longhaul::serve
