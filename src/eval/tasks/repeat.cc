// A marked passage of a book, to be repeated word for word.

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/words.h"

namespace longhaul {
namespace {

constexpr int kWords = 16;

std::vector<Sample> make(const TaskRequest& request) {
  return make_samples(request, "repeat", [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random);
    std::string passage;
    for (int w = 0; w < kWords; ++w) {
      if (w > 0) passage += ' ';
      passage += random.pick(w % 2 == 0 ? kAdjectives : kNouns);
    }
    sample.depth = grid_depth(i);
    sample.question = "Repeat the marked passage.";
    sample.opening = "The marked passage is:";
    sample.answers = {passage};
    sample.match = Match::kTaskRule;
    sample.rule = "needle-words";
    sample.max_tokens = 80;
    const std::string needle = "The marked passage is: " + passage + ".";
    fit_book_text(request, sample, stretch, [&](std::string_view text) {
      return hide(text, {{needle, *sample.depth}});
    });
  });
}

constexpr TaskInfo kTasks[] = {
    {"repeat", "a marked passage of sixteen words, word for word",
     "share of the passage's different words in the reply", "our own; public-domain books", true,
     make},
};

}  // namespace

std::span<const TaskInfo> repeat_tasks() { return kTasks; }

}  // namespace longhaul
