// RULER's eight needle tasks: keys and values in noise, in a book, or among needles.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "eval/data_json.h"
#include "eval/haystack.h"
#include "eval/prompt_template.h"
#include "eval/score_text.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/ruler.h"

namespace longhaul {
namespace {

enum class Haystack { kNoise, kBook, kNeedles };

struct NiahSettings {
  std::string_view name, summary;
  Haystack haystack;
  std::string_view keys, values;  ///< "words", "numbers" or "uuids"
  int key_count, value_count, query_count;
};

constexpr NiahSettings kSettings[] = {
    {"ruler/niah_single_1", "a number in repeated noise", Haystack::kNoise, "words", "numbers", 1,
     1, 1},
    {"ruler/niah_single_2", "a number in a book", Haystack::kBook, "words", "numbers", 1, 1, 1},
    {"ruler/niah_single_3", "a UUID in a book", Haystack::kBook, "words", "uuids", 1, 1, 1},
    {"ruler/niah_multikey_1", "one of four numbers in a book", Haystack::kBook, "words", "numbers",
     4, 1, 1},
    {"ruler/niah_multikey_2", "one number among numbers", Haystack::kNeedles, "words", "numbers", 1,
     1, 1},
    {"ruler/niah_multikey_3", "one UUID among UUIDs", Haystack::kNeedles, "uuids", "uuids", 1, 1,
     1},
    {"ruler/niah_multivalue", "four numbers of one key in a book", Haystack::kBook, "words",
     "numbers", 1, 4, 1},
    {"ruler/niah_multiquery", "the numbers of four keys in a book", Haystack::kBook, "words",
     "numbers", 4, 1, 4},
};

constexpr int kNeedleDepths = 40;

/// Draws keys and values of a kind.
class Vocabulary {
 public:
  explicit Vocabulary(const EvalData& data)
      : nouns_(data_lines(data, "words/nouns.txt")),
        adjectives_(data_lines(data, "words/adjectives.txt")) {}

  std::string draw(std::string_view kind, Random& random) const {
    if (kind == "numbers") return random.digits(7);
    if (kind == "uuids") return random.uuid();
    const std::string adjective(random.pick(adjectives_));
    return adjective + "-" + std::string(random.pick(nouns_));
  }

 private:
  std::vector<std::string_view> nouns_, adjectives_;
};

std::string needle_sentence(const NiahSettings& s, std::string_view key, std::string_view value) {
  return fmt::format("One of the special magic {} for {} is: {}.", s.values, key, value);
}

/// The needles of one sample and the question about them.
struct Needles {
  std::vector<std::string> sentences;
  std::string query;
  std::vector<std::string> answers;
};

std::string listed(const std::vector<std::string>& keys) {
  std::string text = keys.front();
  for (size_t i = 1; i < keys.size(); ++i) {
    text += (i + 1 == keys.size() ? ", and " : ", ") + keys[i];
  }
  return text;
}

Needles draw_needles(const NiahSettings& s, const Vocabulary& vocabulary, Random& random) {
  Needles needles;
  std::set<std::string> keys;
  while (static_cast<int>(keys.size()) < s.key_count) keys.insert(vocabulary.draw(s.keys, random));
  std::vector<std::string> order(keys.begin(), keys.end());
  random.shuffle(order);
  for (size_t k = 0; k < order.size(); ++k) {
    for (int v = 0; v < s.value_count; ++v) {
      const std::string value = vocabulary.draw(s.values, random);
      needles.sentences.push_back(needle_sentence(s, order[k], value));
      if (static_cast<int>(k) < s.query_count) needles.answers.push_back(value);
    }
  }
  random.shuffle(needles.sentences);
  order.resize(static_cast<size_t>(s.query_count));
  needles.query = listed(order);
  return needles;
}

/// `count` different places in 0..places-1, ascending.
std::vector<int64_t> draw_places(int64_t places, size_t count, Random& random) {
  std::set<int64_t> drawn;
  while (drawn.size() < count) drawn.insert(random.between(0, places - 1));
  return {drawn.begin(), drawn.end()};
}

/// Ends of a text's sentences, including the text's own end.
std::vector<size_t> sentence_ends(std::string_view text) {
  std::vector<size_t> ends;
  for (size_t at = text.size(); at > 0;) {
    ends.push_back(at);
    const size_t start = sentence_start(text, at - 1);
    if (start == 0) break;
    at = start - 1;  // the blank before it
  }
  std::reverse(ends.begin(), ends.end());
  return ends;
}

/// Places needles after sentence n * depth / 100, all separated by single blanks.
std::string in_book(std::string_view book, const Needles& needles,
                    const std::vector<int64_t>& depths) {
  const std::vector<size_t> ends = sentence_ends(book);
  std::vector<std::string_view> parts;
  size_t done = 0;
  for (size_t i = 0; i < depths.size(); ++i) {
    const double percent =
        std::nearbyint(static_cast<double>(depths[i]) * 100 / (kNeedleDepths - 1));
    const auto sentences = static_cast<size_t>(static_cast<double>(ends.size()) * percent / 100);
    const size_t end = sentences == 0 ? 0 : ends[sentences - 1];
    if (end > done) {
      parts.push_back(book.substr(done, end - done));
      done = std::min(end + 1, book.size());  // skip the blank
    }
    parts.emplace_back(needles.sentences[i]);
  }
  if (done < book.size()) parts.push_back(book.substr(done));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string in_lines(const NiahSettings& s, const Vocabulary& vocabulary, const Needles& needles,
                     int64_t lines, Random& random) {
  const std::vector<int64_t> places = draw_places(lines, needles.sentences.size(), random);
  std::string text;
  size_t next = 0;
  for (int64_t i = 0; i < lines; ++i) {
    if (next < places.size() && places[next] == i) text += needles.sentences[next++] + "\n";
    if (s.haystack == Haystack::kNoise) {
      text += kNoiseLine;
    } else {
      const std::string key = vocabulary.draw(s.keys, random);
      text += needle_sentence(s, key, vocabulary.draw(s.values, random));
    }
    if (i + 1 < lines) text += '\n';
  }
  return text;
}

std::string with_single_blanks(std::string_view text) {
  return fmt::format("{}", fmt::join(split_words(text), " "));
}

/// Converts the prompt to the singular, for a single needle.
void make_singular(std::string& text) {
  replace_all(text, "Some", "A");
  replace_all(text, "are all", "is");
  replace_all(text, "are", "is");
  replace_all(text, "answers", "answer");
}

std::vector<Sample> make_niah(const TaskRequest& request) {
  const NiahSettings& s = requested_set(kSettings, request);
  RulerTemplate prompt = ruler_template(*request.data, "niah");
  std::string kind(s.values);
  if (s.query_count * s.value_count == 1) {
    make_singular(prompt.text);
    make_singular(prompt.answer_prefix);
    kind.pop_back();
  }
  const Vocabulary vocabulary(*request.data);
  const auto essays = s.haystack == Haystack::kBook ? graham_essays(*request.data) : nullptr;
  return make_samples(request, [&](Sample& sample, Random& random, int) {
    const Needles needles = draw_needles(s, vocabulary, random);
    const PromptField fields[] = {{"type_needle_v", kind}, {"query", needles.query}};
    sample.answers = needles.answers;
    sample.opening = fill_in(prompt.answer_prefix, fields);
    sample.max_tokens = prompt.max_tokens;
    const auto depths = draw_places(kNeedleDepths, needles.sentences.size(), random);
    if (s.haystack == Haystack::kBook) {
      const BookStretch stretch(*request.data, random, essays);
      if (depths.size() == 1) sample.depth = static_cast<double>(depths[0]) / (kNeedleDepths - 1);
      fit_to_length(
          request, sample, kBytesPerToken, kLeastBytes, [&](Sample& filled, int64_t bytes) {
            const auto book = with_single_blanks(stretch.text(static_cast<size_t>(bytes)));
            place_prompt(filled, prompt.text, in_book(book, needles, depths), fields);
          });
      return;
    }
    const uint64_t seed = random.bits();
    fit_to_length(request, sample, 1.0 / 25, static_cast<int64_t>(needles.sentences.size()),
                  [&](Sample& filled, int64_t lines) {
                    Random again(seed);
                    const auto text = in_lines(s, vocabulary, needles, lines, again);
                    place_prompt(filled, prompt.text, text, fields);
                    if (needles.sentences.size() > 1) return;
                    const size_t at = filled.context.find(needles.sentences[0]);
                    filled.depth =
                        static_cast<double>(at) / static_cast<double>(filled.context.size());
                  });
  });
}

constexpr std::string_view source_of(Haystack haystack) {
  switch (haystack) {
    case Haystack::kNoise:
      return "RULER's prompt and noise";
    case Haystack::kNeedles:
      return "RULER's prompt and needles";
    case Haystack::kBook:
      break;
  }
  return "RULER's prompt; public-domain books, or Graham's essays where --data has them";
}

constexpr TaskInfo niah_task(const NiahSettings& s) {
  constexpr std::string_view kRule = "share of the values that are in the reply, case ignored";
  const bool essays = s.haystack == Haystack::kBook;
  return {s.name, s.summary, kRule, source_of(s.haystack), true, make_niah, essays};
}

constexpr auto kNiahTasks = tasks_of_sets(kSettings, niah_task);

}  // namespace

RulerTemplate ruler_template(const EvalData& data, std::string_view base_task) {
  const DataValue file = data_json(data, "prompts/ruler.json");
  const DataValue base = member(member(file, "base_tasks"), base_task);
  return {text_member(base, "template"), text_member(base, "answer_prefix"),
          count_member(base, "tokens_to_generate")};
}

std::span<const TaskInfo> ruler_niah_tasks() { return kNiahTasks; }

}  // namespace longhaul
