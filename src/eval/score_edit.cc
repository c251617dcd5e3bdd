#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "eval/score_text.h"
#include "eval/scorers.h"

namespace longhaul {
namespace {

constexpr size_t kMostWork = size_t{1} << 32;  // characters x characters: seconds

/// Edits that turn one text into the other, where a substitution costs 1 or 2 (an insertion and a
/// deletion). Two rows of the table are held.
size_t distance(std::u32string_view a, std::u32string_view b, size_t substitution) {
  if (a.size() + 1 > kMostWork / (b.size() + 1)) {
    user_error("texts of {} and {} characters are too long for an edit distance", a.size(),
               b.size());
  }
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : substitution);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

double similarity(std::u32string_view a, std::u32string_view b, size_t substitution, size_t most) {
  if (most == 0) return 1;
  return 1 - static_cast<double>(distance(a, b, substitution)) / static_cast<double>(most);
}

/// Without any white space.
std::u32string squeezed(std::string_view text) {
  std::u32string out;
  for (const std::string& word : split_words(text)) out += to_characters(word);
  return out;
}

}  // namespace

double edit_similarity(std::string_view answer, std::string_view reply) {
  const std::u32string a = to_characters(answer);
  const std::u32string b = to_characters(reply);
  return similarity(a, b, 2, a.size() + b.size());
}

double levenshtein_similarity(std::string_view answer, std::string_view reply) {
  const std::u32string a = to_characters(answer);
  const std::u32string b = to_characters(reply);
  return similarity(a, b, 1, std::max(a.size(), b.size()));
}

double code_line_score(std::string_view answer, std::string_view reply) {
  std::string_view line;
  for (size_t begin = std::min(reply.find_first_not_of('\n'), reply.size());
       begin <= reply.size();) {
    const size_t end = std::min(reply.find('\n', begin), reply.size());
    const std::string_view candidate = reply.substr(begin, end - begin);
    if (candidate.find_first_of("`#") == std::string_view::npos &&
        candidate.find("//") == std::string_view::npos) {
      line = candidate;
      break;
    }
    begin = end + 1;
  }
  if (line == answer) return 1;
  // fuzzywuzzy gives 0 for one empty side; it rounds halves to even, as nearbyint does.
  if (line.empty() || answer.empty()) return 0;
  return std::nearbyint(100 * edit_similarity(answer, line)) / 100;
}

double needlebench_score(std::string_view answer, std::string_view keyword,
                         std::string_view reply) {
  if (reply.find(keyword) != std::string_view::npos) return 1;
  const std::u32string a = squeezed(answer);
  const std::u32string b = squeezed(reply);
  return 0.2 * similarity(a, b, 1, std::max(a.size(), b.size()));
}

double needle_words_score(std::string_view answer, std::string_view reply) {
  const std::vector<std::string> words = squad_words(answer);
  const std::vector<std::string> said = squad_words(reply);
  const std::set<std::string> wanted(words.begin(), words.end());
  const std::set<std::string> found(said.begin(), said.end());
  if (wanted.empty()) return 0;
  const auto shared = std::count_if(wanted.begin(), wanted.end(),
                                    [&](const std::string& word) { return found.contains(word); });
  return static_cast<double>(shared) / static_cast<double>(wanted.size());
}

}  // namespace longhaul
