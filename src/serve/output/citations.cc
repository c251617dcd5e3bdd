#include "serve/output/citations.h"

#include <algorithm>

#include "engine/found_sources.h"
#include "serve/documents/text_places.h"
#include "serve/output/sources.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostCited = 3;
constexpr double kOfBest = 0.5;  // a further passage has at least this part of the best one's share

std::vector<std::string> texts_of(const std::vector<QuestionDocument>& documents) {
  std::vector<std::string> texts;
  for (const QuestionDocument& document : documents) {
    texts.push_back(document.text->document.text);
  }
  return texts;
}

}  // namespace

Citations::Citations(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                     std::vector<QuestionDocument> documents, double least_share)
    : documents_(std::move(documents)),
      finder_(std::make_unique<PassageFinder>(tokenizer, prompt, texts_of(documents_))),
      least_share_(least_share) {}

std::vector<CitedPassage> Citations::of(const SourceWatch& watch, std::span<const int32_t> reply,
                                        size_t begin, size_t end) const {
  std::vector<CitedPassage> cited;
  double best = 0;
  for (const Passage& passage : finder_->passages(watch, reply, begin, end, kMostCited)) {
    best = std::max(best, passage.share);
    if (passage.share < std::max(least_share_, best * kOfBest)) break;
    const QuestionDocument& document = documents_[passage.text];
    if (!document.cites) continue;
    const std::string& text = document.text->document.text;
    const TextPlaces& places = document.text->places;
    CitedPassage made{&document,
                      text.substr(passage.range.begin, passage.range.end - passage.range.begin)};
    made.from = places.character_of(text, passage.range.begin);
    made.to = places.character_of(text, passage.range.end);
    made.page = places.page_of(made.from);
    made.share = passage.share;
    cited.push_back(std::move(made));
  }
  return cited;
}

void request_citations(const ServedModel& model, GenerationRequest& request, Job& job) {
  if (std::ranges::none_of(request.documents, &QuestionDocument::cites)) return;
  job.sources = true;
  request.citations =
      std::make_shared<const Citations>(model.engine->tokenizer(), job.prompt, request.documents,
                                        least_share_of_first_passage(model.engine->model().shape));
}

size_t SentenceSplitter::push(std::string_view text) {
  const size_t before = open_.size();
  open_ += text;
  const std::vector<ByteRange> sentences = sentences_of(open_);
  if (sentences.size() < 2) return std::string_view::npos;
  const size_t end = sentences[1].begin;
  open_.clear();
  return end > before ? end - before : 0;
}

}  // namespace longhaul::serve
