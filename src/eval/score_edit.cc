#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "eval/score_text.h"
#include "eval/scorers.h"

namespace longhaul {
namespace {

constexpr size_t kMostWork = size_t{1} << 32;  // characters x characters: seconds

/// Number of edits between two texts, where a substitution costs 1 or 2 (an insertion and a
/// deletion). Only two rows of the table are held.
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
  // fuzzywuzzy gives 0 if one side is empty; it rounds halves to even, like nearbyint.
  if (line.empty() || answer.empty()) return 0;
  return std::nearbyint(100 * edit_similarity(answer, line)) / 100;
}

}  // namespace longhaul
