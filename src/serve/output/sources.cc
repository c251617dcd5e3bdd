#include "serve/output/sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "engine/found_sources.h"
#include "serve/documents/text_places.h"
#include "tokenizer/detokenizer.h"

namespace longhaul::serve {
namespace {

constexpr size_t kMostSources = 3;

/// The texts in a prompt, and the names by which clients know them.
struct SourceTexts {
  std::vector<std::string> texts;
  std::vector<const QuestionDocument*> documents;  ///< null: a message
};

SourceTexts source_texts(const GenerationRequest& request) {
  SourceTexts sources;
  for (const QuestionDocument& document : request.documents) {
    sources.texts.push_back(document.text->document.text);
    sources.documents.push_back(&document);
  }
  if (!sources.texts.empty()) return sources;
  sources.texts = request.message_texts;
  sources.documents.resize(sources.texts.size());
  return sources;
}

Json passage_json(const Passage& passage, const SourceTexts& sources) {
  const std::string& text = sources.texts[passage.text];
  const QuestionDocument* document = sources.documents[passage.text];
  Json json;
  const auto add_range = [&](const TextPlaces& places) {
    const size_t from = places.character_of(text, passage.range.begin);
    const int64_t page = places.page_of(from);
    json["page"] = page > 0 ? Json(page) : Json();
    json["from"] = from;
    json["to"] = places.character_of(text, passage.range.end);
  };
  if (document != nullptr) {
    json["document"] = document->id;
    json["name"] = document->text->document.name;
    add_range(document->text->places);
  } else {
    json["document"] = nullptr;
    json["message"] = passage.text;
    add_range(TextPlaces(text));
  }
  json["share"] = passage.share;
  json["text"] = text.substr(passage.range.begin, passage.range.end - passage.range.begin);
  return json;
}

Json passages_json(const std::vector<Passage>& passages, const SourceTexts& sources) {
  Json list = Json::array();
  for (const Passage& passage : passages) list.push_back(passage_json(passage, sources));
  return list;
}

std::string text_of_reply(const Tokenizer& tokenizer, std::span<const int32_t> reply) {
  Detokenizer detokenizer(tokenizer, {.skip_special = true, .starts_text = true});
  std::string text;
  for (const int32_t token : reply) text += detokenizer.push(token);
  return text + detokenizer.flush();
}

}  // namespace

Json sources_json(const ServedModel& model, const GenerationRequest& request,
                  std::span<const int32_t> prompt,
                  std::span<const std::pair<int, WatchedReply>> watched) {
  Json json = {{"sources", Json::array()}, {"sentences", Json::array()}};
  const auto first = std::ranges::find(watched, 0, &std::pair<int, WatchedReply>::first);
  if (first == watched.end() || !first->second.watch) return json;
  const SourceTexts sources = source_texts(request);
  const WatchedReply& reply = first->second;
  const FoundSources found = find_sources(*model.engine, prompt, sources.texts, *reply.watch,
                                          reply.tokens, true, kMostSources);
  if (!found.shown) return json;
  json["sources"] = passages_json(found.passages, sources);
  json["rests_on_a_passage"] = found.rests();
  const std::string text = text_of_reply(model.engine->tokenizer(), reply.tokens);
  const TextPlaces places(text);
  for (const FoundSources::Sentence& sentence : found.sentences) {
    json["sentences"].push_back({{"from", places.character_of(text, sentence.range.begin)},
                                 {"to", places.character_of(text, sentence.range.end)},
                                 {"sources", passages_json(sentence.passages, sources)}});
  }
  return json;
}

void request_sources(const Json& messages, GenerationRequest& request) {
  for (const Json& message : messages) {
    const Json content = message.value("content", Json());
    std::string text = content.is_string() ? content.get<std::string>() : "";
    if (content.is_array()) {
      for (const Json& part : content) {
        const Json piece = part.value("text", Json());
        if (piece.is_string()) text += (text.empty() ? "" : "\n") + piece.get<std::string>();
      }
    }
    request.message_texts.push_back(std::move(text));
  }
}

}  // namespace longhaul::serve
