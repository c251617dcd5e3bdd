#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "eval/score_text.h"
#include "eval/scorers.h"

namespace longhaul {
namespace {

using Words = std::vector<std::string>;

/// Largest table of the longest common subsequence (words x words).
constexpr size_t kLargestTable = size_t{1} << 26;

double f_measure(double precision, double recall) {
  return precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0;
}

/// Runs of ASCII letters and digits, lower case.
Words rouge_words(std::string_view text) {
  Words words;
  bool inside = false;
  for (const char c : lower_case(text)) {
    const bool part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (part && !inside) words.emplace_back();
    if (part) words.back().push_back(c);
    inside = part;
  }
  return words;
}

/// Indices into `left` of one longest common subsequence, ascending. If two are equally long,
/// `prefer_left` drops the last word of `left` first.
std::vector<size_t> common_subsequence(const Words& left, const Words& right, bool prefer_left) {
  const size_t rows = left.size() + 1;
  const size_t columns = right.size() + 1;
  if (rows > kLargestTable / columns) {
    user_error("ROUGE-L cannot compare {} words with {} words: too long", rows - 1, columns - 1);
  }
  std::vector<uint32_t> table(rows * columns, 0);
  const auto at = [&](size_t i, size_t j) -> uint32_t& { return table[i * columns + j]; };
  for (size_t i = 1; i < rows; ++i) {
    for (size_t j = 1; j < columns; ++j) {
      at(i, j) =
          left[i - 1] == right[j - 1] ? at(i - 1, j - 1) + 1 : std::max(at(i - 1, j), at(i, j - 1));
    }
  }
  std::vector<size_t> indices;
  for (size_t i = left.size(), j = right.size(); i > 0 && j > 0;) {
    const bool shorten_left =
        prefer_left ? at(i - 1, j) >= at(i, j - 1) : at(i - 1, j) > at(i, j - 1);
    if (left[i - 1] == right[j - 1]) {
      indices.push_back(i - 1);
      --i;
      --j;
    } else if (shorten_left) {
      --i;
    } else {
      --j;
    }
  }
  std::reverse(indices.begin(), indices.end());
  return indices;
}

std::map<Words, int64_t> count_ngrams(const Words& words, size_t n) {
  std::map<Words, int64_t> counts;
  for (size_t i = 0; i + n <= words.size(); ++i) {
    ++counts[Words(words.begin() + static_cast<ptrdiff_t>(i),
                   words.begin() + static_cast<ptrdiff_t>(i + n))];
  }
  return counts;
}

int64_t total(const std::map<Words, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : counts) sum += count;
  return sum;
}

std::vector<Words> lines_of_words(std::string_view text) {
  std::vector<Words> lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(rouge_words(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

size_t word_count(const std::vector<Words>& lines) {
  size_t count = 0;
  for (const Words& line : lines) count += line.size();
  return count;
}

std::map<std::string, int64_t> word_counts(const std::vector<Words>& lines) {
  std::map<std::string, int64_t> counts;
  for (const Words& line : lines) {
    for (const std::string& word : line) ++counts[word];
  }
  return counts;
}

/// Sentences between full stops. A sentence of blanks is one empty word in that package.
std::vector<Words> full_stop_sentences(std::string_view text) {
  std::vector<Words> sentences;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    if (end > begin) {
      sentences.push_back(split_words(text.substr(begin, end - begin)));
      if (sentences.back().empty()) sentences.back().emplace_back();
    }
    begin = end + 1;
  }
  return sentences;
}

}  // namespace

double rouge_n(int n, std::string_view answer, std::string_view reply) {
  const auto wanted = count_ngrams(rouge_words(answer), static_cast<size_t>(n));
  const auto found = count_ngrams(rouge_words(reply), static_cast<size_t>(n));
  int64_t shared = 0;
  for (const auto& [ngram, count] : wanted) {
    const auto it = found.find(ngram);
    if (it != found.end()) shared += std::min(count, it->second);
  }
  const auto ratio = [&](int64_t of) {
    return static_cast<double>(shared) / static_cast<double>(std::max<int64_t>(of, 1));
  };
  return f_measure(ratio(total(found)), ratio(total(wanted)));
}

double rouge_l(std::string_view answer, std::string_view reply) {
  const Words wanted = rouge_words(answer);
  const Words found = rouge_words(reply);
  if (wanted.empty() || found.empty()) return 0;
  const auto length = static_cast<double>(common_subsequence(wanted, found, true).size());
  return f_measure(length / static_cast<double>(found.size()),
                   length / static_cast<double>(wanted.size()));
}

double rouge_lsum(std::string_view answer, std::string_view reply) {
  const std::vector<Words> wanted = lines_of_words(answer);
  const std::vector<Words> found = lines_of_words(reply);
  const size_t wanted_words = word_count(wanted);
  const size_t found_words = word_count(found);
  if (wanted_words == 0 || found_words == 0) return 0;
  auto wanted_left = word_counts(wanted);
  auto found_left = word_counts(found);
  int64_t hits = 0;
  for (const Words& line : wanted) {
    std::set<size_t> covered;
    for (const Words& other : found) {
      for (const size_t i : common_subsequence(line, other, true)) covered.insert(i);
    }
    for (const size_t i : covered) {
      // A word counts at most as often as it occurs on both sides.
      int64_t& wanted_count = wanted_left[line[i]];
      int64_t& found_count = found_left[line[i]];
      if (wanted_count <= 0 || found_count <= 0) continue;
      --wanted_count;
      --found_count;
      ++hits;
    }
  }
  return f_measure(static_cast<double>(hits) / static_cast<double>(found_words),
                   static_cast<double>(hits) / static_cast<double>(wanted_words));
}

double rouge_l_unique(std::string_view answer, std::string_view reply) {
  const std::vector<Words> wanted = full_stop_sentences(answer);
  const std::vector<Words> found = full_stop_sentences(reply);
  if (wanted.empty() || found.empty()) return 0;
  std::set<std::string> shared;
  for (const Words& sentence : wanted) {
    for (const Words& other : found) {
      for (const size_t i : common_subsequence(sentence, other, false)) shared.insert(sentence[i]);
    }
  }
  const auto count = static_cast<double>(shared.size());
  const double precision = count / static_cast<double>(word_counts(found).size());
  const double recall = count / static_cast<double>(word_counts(wanted).size());
  return 2 * (precision * recall / (precision + recall + 1e-8));
}

}  // namespace longhaul
