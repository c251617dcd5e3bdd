// Magic numbers in a book: RULER's needle sentences and question (arXiv:2404.06654) without the
// paragraph before the text, the form on which small models such as nano were trained.

#include <fmt/format.h>

#include <set>

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/words.h"

namespace longhaul {
namespace {

constexpr int kMagicKeys = 8;

std::vector<Sample> make_magic(const TaskRequest& request) {
  const int keys = request.task == "magic" ? 1 : kMagicKeys;
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const BookStretch stretch(*request.data, random);
    sample.depth = grid_depth(i);
    std::vector<Hidden> needles;
    std::set<std::string> used;
    while (static_cast<int>(needles.size()) < keys) {
      const std::string key = random_key(random), value = random.digits(7);
      if (!used.insert(key).second) continue;
      const double depth = needles.empty() ? *sample.depth : random.unit();
      needles.push_back(
          {fmt::format("One of the special magic numbers for {} is: {}.", key, value), depth});
      if (needles.size() > 1) continue;
      sample.question =
          "What is the special magic number for " + key + " mentioned in the provided text?";
      sample.opening = "The special magic number for " + key + " mentioned in the provided text is";
      sample.answers = {value};
    }
    sample.max_tokens = 40;
    fit_book_text(request, sample, stretch,
                  [&](std::string_view text) { return hide(text, needles); });
  });
}

constexpr std::string_view kMagicRule = "the number is in the reply";

constexpr TaskInfo kMagicTasks[] = {
    {"magic", "a magic number of seven digits in a book", kMagicRule,
     "RULER's sentence and question; public-domain books", true, make_magic},
    {"multikey", "one of eight magic numbers in a book", kMagicRule,
     "RULER's sentences and question; public-domain books", true, make_magic},
};

}  // namespace

std::span<const TaskInfo> magic_tasks() { return kMagicTasks; }

}  // namespace longhaul
