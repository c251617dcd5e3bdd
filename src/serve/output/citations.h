#pragma once
// Determines citations: the passages of documents on which a sentence of a reply is based. They are
// determined from the attention of the sentence's tokens, as soon as the sentence is complete.

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
  /// Share of the sentence's attention to all documents that this passage receives.
  double share = 0;
};

struct Citation {
  ByteRange sentence;  ///< bytes of the sentence within the text of its ReplyPart
  std::vector<CitedPassage> passages;
};

class Citations {
 public:
  /// `documents` are the documents in `prompt`, in the order of the prompt. A passage is cited only
  /// if its share of the sentence's attention is at least `least_share`.
  Citations(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
            std::vector<QuestionDocument> documents, double least_share);

  /// Returns the passages on which tokens [begin, end) of the reply are based, best first. `watch`
  /// is the record of the attended keys, and `reply` has all tokens of the reply. Returns nothing
  /// if no passage receives much more attention than the others.
  std::vector<CitedPassage> of(const SourceWatch& watch, std::span<const int32_t> reply,
                               size_t begin, size_t end) const;

 private:
  std::vector<QuestionDocument> documents_;
  std::unique_ptr<const PassageFinder> finder_;
  double least_share_;  ///< least CitedPassage::share of a cited passage
};

/// Makes the reply of a request cite its documents. Only documents in `request.documents` whose
/// `cites` is true are cited. Does nothing if there is no such document. The prompt of `job` must
/// already be set.
void request_citations(const ServedModel& model, GenerationRequest& request, Job& job);

/// Splits the text of a reply into sentences while the reply is generated.
class SentenceSplitter {
 public:
  /// Appends text to the open sentence. If the sentence ends within `text`, returns the number of
  /// its bytes in `text`. Otherwise returns npos.
  size_t push(std::string_view text);
  bool empty() const { return open_.empty(); }
  void clear() { open_.clear(); }

 private:
  std::string open_;  ///< text of the open sentence
};

}  // namespace longhaul::serve
