#include "serve/documents/document_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace longhaul::serve {
namespace {

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte >= 0x80;
}

char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Text in small letters with one space for each run of blanks, and the byte of each character.
struct Folded {
  std::string text;
  std::vector<size_t> places;
};

Folded fold(std::string_view text) {
  Folded folded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool blank = text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r';
    if (blank && (folded.text.empty() || folded.text.back() == ' ')) continue;
    folded.text += blank ? ' ' : small_letter(text[i]);
    folded.places.push_back(i);
  }
  return folded;
}

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text) {
    if (is_word_byte(c)) {
      word += small_letter(c);
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.insert(word);
  return words;
}

std::vector<ByteRange> containing(const std::vector<ByteRange>& sentences, std::string_view text,
                                  const std::string& wanted, size_t most) {
  const Folded folded = fold(text);
  std::vector<ByteRange> found;
  size_t at = folded.text.find(wanted);
  for (const ByteRange& sentence : sentences) {
    if (found.size() == most || at == std::string::npos) break;
    if (folded.places[at] >= sentence.end) continue;
    found.push_back(sentence);
    // The next occurrence that begins behind this sentence.
    const auto behind = std::ranges::lower_bound(folded.places, sentence.end);
    at = folded.text.find(wanted, static_cast<size_t>(behind - folded.places.begin()));
  }
  return found;
}

/// Sentences with most of the words; a word counts more the fewer sentences have it.
std::vector<ByteRange> sharing_words(const std::vector<ByteRange>& sentences, std::string_view text,
                                     std::string_view wanted, size_t most) {
  const std::set<std::string> asked = words_of(wanted);
  std::vector<std::vector<std::string>> of_sentence;
  std::map<std::string, double> count;
  for (const ByteRange& sentence : sentences) {
    std::vector<std::string>& shared = of_sentence.emplace_back();
    for (const std::string& word :
         words_of(text.substr(sentence.begin, sentence.end - sentence.begin))) {
      if (asked.contains(word)) shared.push_back(word);
    }
    for (const std::string& word : shared) count[word] += 1;
  }
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t i = 0; i < sentences.size(); ++i) {
    double score = 0;
    for (const std::string& word : of_sentence[i]) {
      score += std::log(1 + static_cast<double>(sentences.size()) / count[word]);
    }
    if (score > 0) ranked.emplace_back(-score, i);
  }
  std::ranges::sort(ranked);
  std::vector<ByteRange> found;
  for (size_t i = 0; i < std::min(most, ranked.size()); ++i) {
    found.push_back(sentences[ranked[i].second]);
  }
  return found;
}

}  // namespace

FoundPassages find_passages(std::string_view text, std::string_view wanted, size_t most) {
  std::string folded = fold(wanted).text;
  while (folded.ends_with(' ')) folded.pop_back();
  if (folded.empty()) return {};
  const std::vector<ByteRange> sentences = sentences_of(text);
  FoundPassages found;
  found.ranges = containing(sentences, text, folded, most);
  if (!found.ranges.empty()) return found;
  found.exact = false;
  found.ranges = sharing_words(sentences, text, wanted, most);
  return found;
}

}  // namespace longhaul::serve
