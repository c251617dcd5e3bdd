#include "engine/passages.h"

#include <algorithm>
#include <cctype>

namespace longhaul {
namespace {

constexpr size_t kShortest = 40, kLongest = 400;  // length of a sentence in bytes

bool is_blank_char(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Returns whether a sentence may end after byte `i`.
bool ends_at(std::string_view text, size_t i) {
  const char c = text[i];
  const bool last = i + 1 == text.size();
  if (c == '\n') return last || text[i + 1] == '\n' || text[i + 1] == '\r';
  return (c == '.' || c == '!' || c == '?') && (last || is_blank_char(text[i + 1]));
}

ByteRange without_blanks(std::string_view text, size_t begin, size_t end) {
  while (begin < end && is_blank_char(text[begin])) ++begin;
  while (end > begin && is_blank_char(text[end - 1])) --end;
  return {begin, end};
}

}  // namespace

std::vector<ByteRange> sentences_of(std::string_view text) {
  std::vector<ByteRange> sentences;
  size_t begin = 0;
  const auto add = [&](size_t end) {
    const ByteRange range = without_blanks(text, begin, end);
    if (range.begin < range.end) sentences.push_back(range);
    begin = end;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t length = i + 1 - begin;
    const bool at_blank = is_blank_char(text[i]);
    if ((ends_at(text, i) && length >= kShortest) || (at_blank && length >= kLongest)) add(i + 1);
  }
  add(text.size());
  return sentences;
}

PassageFinder::PassageFinder(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                             const std::vector<std::string>& texts)
    : tokenizer_(tokenizer), of_token_(prompt.size(), -1) {
  const std::vector<TokenSpan> spans = tokenizer.spans(prompt);
  std::string all;
  for (const TokenSpan& span : spans) all += span.piece;
  size_t from = 0;
  for (size_t t = 0; t < texts.size(); ++t) {
    std::string_view text = texts[t];
    while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
    const size_t at = text.empty() ? std::string::npos : all.find(text, from);
    if (at == std::string::npos) continue;
    from = at + text.size();
    auto span = spans.begin();
    for (const ByteRange& sentence : sentences_of(text)) {
      const auto number = static_cast<int32_t>(all_.size());
      all_.push_back({t, sentence, 0});
      while (span != spans.end() && span->begin + span->piece.size() <= at + sentence.begin) ++span;
      for (; span != spans.end() && span->begin < at + sentence.end; ++span) {
        of_token_[static_cast<size_t>(span - spans.begin())] = number;
      }
    }
  }
}

bool PassageFinder::is_content(int32_t token) const {
  if (tokenizer_.is_special(token)) return false;
  return std::ranges::any_of(tokenizer_.piece(token), [](char c) {
    return static_cast<unsigned char>(c) >= 0x80 ||
           std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

bool PassageFinder::holds(const Passage& passage, int64_t token) const {
  const int32_t number = of_token_[static_cast<size_t>(token)];
  if (number < 0) return false;
  const Passage& here = all_[static_cast<size_t>(number)];
  return here.text == passage.text && here.range.begin == passage.range.begin;
}

std::vector<Passage> PassageFinder::passages(const SourceWatch& watch,
                                             std::span<const int32_t> reply, size_t begin,
                                             size_t end, size_t most) const {
  std::vector<Passage> found = all_;
  double total = 0;
  for (size_t i = begin; i < std::min(end, reply.size()); ++i) {
    if (!is_content(reply[i])) continue;
    for (const LookedAt& looked : watch.of(i)) {
      const auto token = static_cast<size_t>(looked.token);
      if (token >= of_token_.size() || of_token_[token] < 0) continue;
      found[static_cast<size_t>(of_token_[token])].share += static_cast<double>(looked.share);
      total += static_cast<double>(looked.share);
    }
  }
  std::erase_if(found, [](const Passage& p) { return p.share <= 0; });
  std::ranges::stable_sort(found, std::ranges::greater(), &Passage::share);
  if (found.size() > most) found.resize(most);
  for (Passage& p : found) p.share /= total;
  return found;
}

}  // namespace longhaul
