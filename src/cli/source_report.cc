#include "cli/source_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/printable.h"

namespace longhaul {
namespace {

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
  int64_t paragraph = 0;  ///< behind the heading or the mark of the page, from 1; 0: the heading
  std::string heading;    ///< the last one before the passage
  double depth = 0;
};

/// Blank lines in a stretch of text.
int64_t blank_lines(std::string_view text) {
  int64_t count = 0;
  for (size_t at = text.find("\n\n"); at != std::string_view::npos; at = text.find("\n\n", at)) {
    ++count;
    at = std::min(text.find_first_not_of('\n', at), text.size());
  }
  return count;
}

TextPlace place_of(const Passage& passage, const Document& document) {
  const std::string& text = document.text;
  const size_t begin = passage.range.begin;
  TextPlace place;
  place.page = page_at(text, begin);
  place.line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  place.depth = static_cast<double>(begin) / static_cast<double>(text.size());
  if (!document.in_paragraphs) return place;
  size_t section = 0;
  for (const Heading& heading : document.headings) {
    if (heading.offset > begin) break;
    section = heading.offset;
    place.heading = heading.text;
  }
  if (place.page > 0) section = text.rfind(fmt::format("[page {}]\n", place.page), begin);
  place.paragraph = blank_lines(std::string_view(text).substr(section, begin - section));
  if (place.heading.empty()) ++place.paragraph;
  return place;
}

/// ", page 12, line 5" or ", "On ships", paragraph 3".
std::string place_words(const TextPlace& place, bool in_paragraphs) {
  std::string words;
  if (place.page > 0) words += fmt::format(", page {}", place.page);
  if (!in_paragraphs) return words + fmt::format(", line {}", place.line);
  if (!place.heading.empty()) words += fmt::format(", \"{}\"", one_line(place.heading));
  if (place.paragraph > 0) words += fmt::format(", paragraph {}", place.paragraph);
  return words;
}

bool is_text_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The text without its lines "[page N]", which the conversion of a PDF inserts.
std::string without_page_marks(std::string_view text) {
  constexpr std::string_view kMark = "[page ";
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = text.substr(begin, end - begin);
    begin = end;
    const size_t digits = line.starts_with(kMark)
                              ? line.find_first_not_of("0123456789", kMark.size())
                              : std::string_view::npos;
    const bool is_mark = digits != std::string_view::npos && digits > kMark.size() &&
                         (line.substr(digits) == "]" || line.substr(digits) == "]\n");
    if (!is_mark) kept += line;
  }
  return kept;
}

/// The passage in one line, with "..." where it begins or ends inside a sentence.
std::string shown_quote(const Passage& passage, std::string_view text) {
  const auto [begin, end] = passage.range;
  const auto ends_sentence = [&text](size_t at) {  // behind byte `at`
    return std::string_view(".!?").find(text[at]) != std::string_view::npos;
  };
  size_t before = begin;
  while (before > 0 && is_text_blank(text[before - 1])) --before;
  const std::string_view gap_before = text.substr(before, begin - before);
  const bool whole_begin = before == 0 || ends_sentence(before - 1) ||
                           blank_lines(gap_before) > 0 || text.substr(0, before).ends_with(']');
  size_t after = end;
  while (after < text.size() && is_text_blank(text[after])) ++after;
  const std::string_view gap_after = text.substr(end, after - end);
  const bool whole_end =
      after == text.size() || end == begin || ends_sentence(end - 1) || blank_lines(gap_after) > 0;
  std::string quote = without_page_marks(text.substr(begin, end - begin));
  std::ranges::replace(quote, '\n', ' ');
  return (whole_begin ? "" : "... ") + one_line(quote) + (whole_end ? "" : " ...");
}

std::string quoted(const Passage& passage, const std::string& text) {
  return text.substr(passage.range.begin, passage.range.end - passage.range.begin);
}

nlohmann::ordered_json json_of(const std::vector<Passage>& passages,
                               const std::vector<Document>& documents) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Passage& passage : passages) {
    const Document& document = documents[passage.text];
    const TextPlace place = place_of(passage, document);
    nlohmann::ordered_json item = {{"text", document.name}, {"line", place.line}};
    if (place.page > 0) item["page"] = place.page;
    if (!place.heading.empty()) item["heading"] = place.heading;
    if (document.in_paragraphs) item["paragraph"] = place.paragraph;
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

void ReplySources::begin(int64_t tokens) {
  const ModelShape& shape = session_.engine().model().shape;
  watch_ = std::make_shared<SourceWatch>(shape, heads_to_watch(shape), tokens);
  session_.observe([watch = watch_](const LayerStep& step, std::span<const AttendTask> tasks) {
    watch->observe(step, tasks);
  });
}

FoundSources ReplySources::find(std::span<const int32_t> prompt,
                                const std::vector<Document>& documents,
                                std::span<const int32_t> reply, bool starts_text,
                                size_t most) const {
  return find_sources(session_.engine(), prompt, texts_of(documents), *watch_, reply, starts_text,
                      most);
}

std::string sources_text(const FoundSources& sources, const std::vector<Document>& documents) {
  if (!sources.shown) return "sources      none: the reply saw no token of the texts\n";
  if (sources.passages.empty())
    return fmt::format(
        "sources      none: the reply did not attend to the texts\nnote         {}\n",
        kNoParticularPassage);
  std::string text;
  int number = 0;
  for (const Passage& passage : sources.passages) {
    // Passages with little attention are usually accidental.
    constexpr double kLeastShare = 0.05;
    if (number > 0 && passage.share < kLeastShare) continue;
    const Document& document = documents[passage.text];
    const TextPlace place = place_of(passage, document);
    text +=
        fmt::format("source {}     {}{}, at {:.0f} % of it ({:.0f} % of the attention)\n", ++number,
                    one_line(document.name), place_words(place, document.in_paragraphs),
                    100 * place.depth, 100 * passage.share);
    text += "             " + shown_quote(passage, document.text) + "\n";
  }
  if (!sources.rests()) text += fmt::format("note         {}\n", kNoParticularPassage);
  return text;
}

void add_sources(const FoundSources& sources, const std::vector<Document>& documents,
                 nlohmann::ordered_json& json) {
  json["sources"] = json_of(sources.passages, documents);
  if (sources.shown) json["rests_on_a_passage"] = sources.rests();
  json["sentences"] = nlohmann::ordered_json::array();
  for (const FoundSources::Sentence& sentence : sources.sentences) {
    json["sentences"].push_back({{"begin", sentence.range.begin},
                                 {"end", sentence.range.end},
                                 {"sources", json_of(sentence.passages, documents)}});
  }
}

}  // namespace longhaul
