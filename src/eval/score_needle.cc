// The rules of the needle tests, and of verbatim repetition of a passage.

#include <algorithm>
#include <set>

#include "eval/score_text.h"
#include "eval/scorers.h"

namespace longhaul {
namespace {

std::string without_white_space(std::string_view text) {
  std::string out;
  for (const std::string& word : split_words(text)) out += word;
  return out;
}

}  // namespace

double needlebench_score(std::string_view answer, std::string_view keyword,
                         std::string_view reply) {
  if (reply.find(keyword) != std::string_view::npos) return 1;
  return 0.2 * levenshtein_similarity(without_white_space(answer), without_white_space(reply));
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

double verbatim_score(std::string_view answer, std::string_view reply) {
  const std::vector<std::string> wanted = squad_words(answer);
  if (wanted.empty()) return 0;
  // run[j]: number of common words that end with the answer's word j and the reply's present word.
  std::vector<size_t> run(wanted.size(), 0);
  size_t longest = 0;
  for (const std::string& word : squad_words(reply)) {
    for (size_t j = wanted.size(); j-- > 0;) {
      const size_t before = j > 0 ? run[j - 1] : 0;
      run[j] = word == wanted[j] ? before + 1 : 0;
      longest = std::max(longest, run[j]);
    }
  }
  return static_cast<double>(longest) / static_cast<double>(wanted.size());
}

}  // namespace longhaul
