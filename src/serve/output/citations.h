#pragma once
// Citations: the passages of documents that a sentence of a reply draws on, known as soon as the
// sentence has been written.

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
  size_t from = 0, to = 0;  ///< characters of the document
  int64_t page = 0;         ///< 0: none
  double share = 0;         ///< its share of the attention on the documents
};

struct Citation {
  ByteRange sentence;  ///< in the part of the reply
  std::vector<CitedPassage> passages;
};

class Citations {
 public:
  /// `documents`: in the order of the prompt.
  Citations(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
            std::vector<QuestionDocument> documents, double least_share);

  /// The passages that tokens [begin, end) of the reply draw on, best first. Empty if none of them
  /// stands out.
  std::vector<CitedPassage> of(const SourceWatch& watch, std::span<const int32_t> reply,
                               size_t begin, size_t end) const;

 private:
  std::vector<QuestionDocument> documents_;
  std::unique_ptr<const PassageFinder> finder_;
  double least_share_;  ///< least share of a passage that is cited
};

/// Prepares a request whose sentences cite documents: those of `request.documents` with `cites`.
/// Does nothing if there are none. `job` has its prompt.
void request_citations(const ServedModel& model, GenerationRequest& request, Job& job);

/// Divides a reply's text into sentences while it is written, with their tokens.
class SentenceSplitter {
 public:
  /// Bytes at the front of `text` that belong to the sentence that was open; npos: all of them.
  size_t push(std::string_view text);
  bool empty() const { return open_.empty(); }
  void clear() { open_.clear(); }

 private:
  std::string open_;  ///< text of the open sentence
};

}  // namespace longhaul::serve
