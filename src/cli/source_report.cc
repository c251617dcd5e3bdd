#include "cli/source_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "text/printable.h"
#include "tokenizer/detokenizer.h"

namespace longhaul {
namespace {

/// End of each token's text within the reply's text.
std::vector<size_t> ends_in_text(const Tokenizer& tokenizer, std::span<const int32_t> reply,
                                 bool starts_text) {
  Detokenizer detokenizer(tokenizer, {.skip_special = true, .starts_text = starts_text});
  std::vector<size_t> ends;
  size_t at = 0;
  for (const int32_t token : reply) ends.push_back(at += detokenizer.push(token).size());
  return ends;
}

std::string decoded(const Tokenizer& tokenizer, std::span<const int32_t> reply, bool starts_text) {
  Detokenizer detokenizer(tokenizer, {.skip_special = true, .starts_text = starts_text});
  std::string text;
  for (const int32_t token : reply) text += detokenizer.push(token);
  return text;
}

/// Number in the last line "[page N]" that begins before `at`; 0: there is none.
int64_t page_at(std::string_view text, size_t at) {
  constexpr std::string_view kMark = "[page ";
  for (size_t from = at + 1; from-- > 0;) {
    from = text.rfind(kMark, from);
    if (from == std::string_view::npos) return 0;
    int64_t page = 0;
    const char* begin = text.data() + from + kMark.size();
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), page);
    const bool starts_line = from == 0 || text[from - 1] == '\n';
    if (starts_line && error == std::errc() && end != text.data() + text.size() && *end == ']') {
      return page;
    }
  }
  return 0;
}

struct TextPlace {
  int64_t page = 0, line = 1;
  double depth = 0;
};

TextPlace place_of(const Passage& passage, const std::string& text) {
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(passage.range.begin);
  TextPlace place;
  place.page = page_at(text, passage.range.begin);
  place.line = 1 + std::count(text.begin(), begin, '\n');
  place.depth = static_cast<double>(passage.range.begin) / static_cast<double>(text.size());
  return place;
}

std::string quoted(const Passage& passage, const std::string& text) {
  return text.substr(passage.range.begin, passage.range.end - passage.range.begin);
}

nlohmann::ordered_json json_of(const std::vector<Passage>& passages,
                               const std::vector<Document>& documents) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Passage& passage : passages) {
    const Document& document = documents[passage.text];
    const TextPlace place = place_of(passage, document.text);
    nlohmann::ordered_json item = {{"text", document.name}, {"line", place.line}};
    if (place.page > 0) item["page"] = place.page;
    item["depth"] = place.depth;
    item["begin"] = passage.range.begin;
    item["end"] = passage.range.end;
    item["share"] = passage.share;
    item["quote"] = quoted(passage, document.text);
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

FoundSources find_sources(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                          const std::vector<Document>& documents, const SourceWatch& watch,
                          std::span<const int32_t> reply, bool starts_text, size_t most) {
  const PassageFinder finder(tokenizer, prompt, texts_of(documents));
  FoundSources found;
  found.shown = watch.saw_anything();
  found.passages = finder.passages(watch, reply, 0, reply.size(), most);
  const std::vector<size_t> ends = ends_in_text(tokenizer, reply, starts_text);
  for (const ByteRange& sentence : sentences_of(decoded(tokenizer, reply, starts_text))) {
    // Tokens whose text ends within the sentence.
    const auto first = std::ranges::upper_bound(ends, sentence.begin) - ends.begin();
    const auto last = std::ranges::upper_bound(ends, sentence.end) - ends.begin();
    found.sentences.push_back({sentence, finder.passages(watch, reply, static_cast<size_t>(first),
                                                         static_cast<size_t>(last), most)});
  }
  return found;
}

std::string sources_text(const FoundSources& sources, const std::vector<Document>& documents) {
  if (!sources.shown) return "sources      none: this method moves its keys\n";
  if (sources.passages.empty()) return "sources      none: the reply did not attend to the texts\n";
  std::string text;
  int number = 0;
  for (const Passage& passage : sources.passages) {
    const Document& document = documents[passage.text];
    const TextPlace place = place_of(passage, document.text);
    text += fmt::format(
        "source {}     {},{} line {}, at {:.0f} % of it ({:.0f} % of the attention)\n", ++number,
        one_line(document.name), place.page > 0 ? fmt::format(" page {},", place.page) : "",
        place.line, 100 * place.depth, 100 * passage.share);
    std::string quote = quoted(passage, document.text);
    std::ranges::replace(quote, '\n', ' ');
    text += "             " + one_line(quote) + "\n";
  }
  return text;
}

void add_sources(const FoundSources& sources, const std::vector<Document>& documents,
                 nlohmann::ordered_json& json) {
  json["sources"] = json_of(sources.passages, documents);
  json["sentences"] = nlohmann::ordered_json::array();
  for (const FoundSources::Sentence& sentence : sources.sentences) {
    json["sentences"].push_back({{"begin", sentence.range.begin},
                                 {"end", sentence.range.end},
                                 {"sources", json_of(sentence.passages, documents)}});
  }
}

}  // namespace longhaul
