// Verbatim repetition of a passage of the book, given its first words.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "eval/haystack.h"
#include "eval/score_text.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

// Words of a passage: the first ones identify it in the question. The reply is opened with more
// words, so that the last of them are unique in the book. The words after them are scored.
constexpr size_t kNamed = 6;
constexpr size_t kOpened = 10;
constexpr size_t kAskedWords = 24;
constexpr size_t kPassage = kOpened + kAskedWords;
constexpr int64_t kShortestBook = 512;  // bytes; a passage takes about 200

std::string joined_words(std::span<const std::string> words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// Words of the passage that begins at the sentence before `depth` of a text whose words are
/// separated by single blanks. It ends within the text.
std::vector<std::string> passage_at(const std::string& text, double depth) {
  size_t last = text.size() + 1;  // beginning of the last passage; moves back one word per step
  for (size_t words = 0; words < kPassage; ++words) {
    if (last < 2) {
      user_error("{} bytes of a book hold fewer than {} words", text.size(), kPassage);
    }
    last = text.rfind(' ', last - 2) + 1;  // without a blank, npos + 1 is the text's beginning
  }
  const auto wanted = static_cast<size_t>(depth * static_cast<double>(last));
  std::vector<std::string> words =
      split_words(std::string_view(text).substr(sentence_start(text, wanted)));
  words.resize(kPassage);
  return words;
}

void ask_for(Sample& sample, const std::vector<std::string>& passage) {
  const std::span<const std::string> words = passage;
  sample.question =
      "Repeat the passage that begins with these words:\n" + joined_words(words.first(kNamed));
  sample.opening = joined_words(words.first(kOpened));
  sample.answers = {joined_words(words.subspan(kOpened))};
}

std::vector<Sample> make_repeat(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random);
    sample.depth = grid_depth(i);
    sample.rule = "verbatim";
    sample.max_tokens = 96;
    fit_to_length(
        request, sample, kBytesPerToken, kShortestBook, [&](Sample& filled, int64_t bytes) {
          // On one line, so that the passage is the same text in book, opening and answer.
          filled.context = joined_words(split_words(stretch.text(static_cast<size_t>(bytes))));
          ask_for(filled, passage_at(filled.context, *filled.depth));
        });
  });
}

constexpr TaskInfo kRepeatTasks[] = {
    {"repeat", "a passage of a book, word for word, from its first words on",
     "of the passage's next 24 words, the share that the longest run of them in the reply covers",
     "our own; public-domain books", true, make_repeat},
};

}  // namespace

std::span<const TaskInfo> repeat_tasks() { return kRepeatTasks; }

}  // namespace longhaul
