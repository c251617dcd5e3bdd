// RULER's two counting tasks: the common words of a list (cwe), the frequent words of a coded text
// (fwe).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "base/error.h"
#include "eval/data_json.h"
#include "eval/haystack.h"
#include "eval/prompt_template.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/ruler.h"

namespace longhaul {
namespace {

constexpr int64_t kCommon = 10;
constexpr int64_t kShortLength = 4096;  // shorter lists repeat words less often

using WordViews = std::vector<std::string_view>;

/// Numbers of occurrences of the common and of the other words in a list.
struct Repeats {
  int64_t common, other;
};

/// `count` different words of a list, at random.
WordViews draw_words(const WordViews& from, int64_t count, Random& random) {
  std::vector<size_t> order(from.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  WordViews drawn;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    std::swap(order[i], order[i + static_cast<size_t>(random.below(order.size() - i))]);
    drawn.push_back(from[order[i]]);
  }
  return drawn;
}

std::string numbered(const WordViews& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += fmt::format("{}{}. {}", i == 0 ? "" : " ", i + 1, words[i]);
  }
  return text;
}

/// The word lists of one EvalData: wonderwords, and more English words for very long lists.
class WordList {
 public:
  explicit WordList(const EvalData& data) : data_(data) {
    std::set<std::string_view> words;
    for (const auto file : {"words/nouns.txt", "words/adjectives.txt", "words/verbs.txt"}) {
      for (const std::string_view word : data_lines(data, file)) words.insert(word);
    }
    words_.assign(words.begin(), words.end());
  }

  /// A numbered list of `different` words, of which the first ten are the common ones.
  std::string list(int64_t different, Repeats repeats, Random& random, WordViews* common) {
    const WordViews drawn = draw_words(enough(different), different, random);
    common->assign(drawn.begin(), drawn.begin() + kCommon);
    WordViews all;
    for (size_t i = 0; i < drawn.size(); ++i) {
      const int64_t times = static_cast<int64_t>(i) < kCommon ? repeats.common : repeats.other;
      all.insert(all.end(), static_cast<size_t>(times), drawn[i]);
    }
    random.shuffle(all);
    return numbered(all);
  }

 private:
  const WordViews& enough(int64_t count) {
    if (count <= static_cast<int64_t>(words_.size())) return words_;
    if (more_.empty()) more_ = data_lines(data_, "words/english.txt");
    if (count > static_cast<int64_t>(more_.size())) {
      user_error("words/english.txt: {} words are too few for this length", more_.size());
    }
    return more_;
  }

  const EvalData& data_;
  WordViews words_, more_;
};

std::vector<Sample> make_common(const TaskRequest& request) {
  const RulerTemplate prompt = ruler_template(*request.data, "common_words_extraction");
  WordList words(*request.data);
  const bool is_short = request.length < kShortLength;
  const Repeats repeats = is_short ? Repeats{6, 1} : Repeats{30, 3};
  const Repeats example_repeats = is_short ? Repeats{3, 1} : Repeats{10, 3};
  return make_samples(request, [&](Sample& sample, Random& random, int) {
    WordViews common;
    const std::string list = words.list(is_short ? 20 : 40, example_repeats, random, &common);
    const PromptField fields[] = {{"context", list}};
    const std::string example =
        fill_in(prompt.text + prompt.answer_prefix, fields) + " " + numbered(common) + "\n";
    sample.opening = prompt.answer_prefix;
    sample.max_tokens = prompt.max_tokens;
    const uint64_t seed = random.bits();
    fit_to_length(request, sample, 1.0 / 15, kCommon + 1, [&](Sample& filled, int64_t different) {
      Random again(seed);
      const std::string text = words.list(different, repeats, again, &common);
      place_prompt(filled, prompt.text, text, {});
      filled.context.insert(0, example);
      filled.answers.assign(common.begin(), common.end());
    });
  });
}

constexpr double kZeta2 = std::numbers::pi * std::numbers::pi / 6;
constexpr int kCodedLetters = 6;
constexpr int64_t kTokensPerCodedWord = 50;
constexpr int64_t kLeastCodedWords = 50;

std::vector<std::string> coded_words(int64_t count, Random& random) {
  std::set<std::string> drawn;
  while (static_cast<int64_t>(drawn.size()) < count) {
    std::string word;
    for (int i = 0; i < kCodedLetters; ++i) word += static_cast<char>('a' + random.below(26));
    drawn.insert(word);
  }
  std::vector<std::string> words(drawn.begin(), drawn.end());
  random.shuffle(words);
  words[0] = "...";  // the most frequent one is noise
  return words;
}

std::vector<Sample> make_frequent(const TaskRequest& request) {
  const RulerTemplate prompt = ruler_template(*request.data, "freq_words_extraction");
  const int64_t ranks =
      std::max<int64_t>(4, (request.length - prompt.max_tokens) / kTokensPerCodedWord);
  return make_samples(request, [&](Sample& sample, Random& random, int) {
    const std::vector<std::string> words = coded_words(ranks, random);
    sample.answers = {words[1], words[2], words[3]};
    sample.opening = prompt.answer_prefix;
    sample.max_tokens = prompt.max_tokens;
    const uint64_t seed = random.bits();
    fit_to_length(request, sample, 1.0 / 3, kLeastCodedWords, [&](Sample& filled, int64_t count) {
      WordViews text;
      for (size_t i = 0; i < words.size(); ++i) {
        const auto rank = static_cast<double>(i + 1);
        const double times = static_cast<double>(count) / (rank * rank) / kZeta2;
        text.insert(text.end(), static_cast<size_t>(times), words[i]);
      }
      Random again(seed);
      again.shuffle(text);
      place_prompt(filled, prompt.text, fmt::format("{}", fmt::join(text, " ")), {});
    });
  });
}

constexpr TaskInfo kWordTasks[] = {
    {"ruler/cwe", "the ten common words of a numbered list",
     "share of the ten words that are in the reply",
     "RULER's prompt; its second word list is replaced by an older one past 8,700 words", true,
     make_common},
    {"ruler/fwe", "the three most frequent words of a coded text",
     "share of the three words that are in the reply", "RULER's prompt", true, make_frequent},
};

}  // namespace

std::span<const TaskInfo> ruler_words_tasks() { return kWordTasks; }

}  // namespace longhaul
