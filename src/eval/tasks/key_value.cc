// One value of a long list: lines of words and numbers, and lost in the middle's JSON of UUIDs (Liu
// et al. 2023, arXiv:2307.03172).

#include <cmath>
#include <set>

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/words.h"

namespace longhaul {
namespace {

struct Pair {
  std::string key, value;
};

/// Grows on demand, so that a longer list begins like a shorter one.
class Pairs {
 public:
  Pairs(Random& random, std::string (*key)(Random&), std::string (*value)(Random&))
      : random_(random), key_(key), value_(value) {}
  const Pair& at(int64_t index) {
    while (static_cast<int64_t>(pairs_.size()) <= index) {
      std::string key = key_(random_);
      if (used_.insert(key).second) pairs_.push_back({std::move(key), value_(random_)});
    }
    return pairs_[static_cast<size_t>(index)];
  }

 private:
  Random& random_;
  std::string (*key_)(Random&);
  std::string (*value_)(Random&);
  std::vector<Pair> pairs_;
  std::set<std::string> used_;
};

/// The requested pair is drawn first and placed at `depth` of the list.
template <class Line>
std::string list_of_pairs(Pairs& pairs, int64_t count, double depth, std::string_view between,
                          Line&& line) {
  const int64_t place = std::llround(depth * static_cast<double>(count - 1));
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += between;
    text += line(pairs.at(i == place ? 0 : (i < place ? i + 1 : i)));
  }
  return text;
}

std::string word_key(Random& random) { return random_key(random) + "-" + random.digits(3); }
std::string number(Random& random) { return random.digits(7); }
std::string uuid(Random& random) { return random.uuid(); }

std::vector<Sample> make_lines(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    Pairs pairs(random, word_key, number);
    const Pair asked = pairs.at(0);
    sample.depth = grid_depth(i);
    sample.question = "Extract the value corresponding to this key:\nkey: " + asked.key;
    sample.opening = "value:";
    sample.before_opening = "\n";
    sample.answers = {asked.value};
    sample.max_tokens = 40;
    fit_to_length(request, sample, 1.0 / 16, 2, [&](Sample& s, int64_t count) {
      s.context = list_of_pairs(pairs, count, *s.depth, "\n",
                                [](const Pair& pair) { return pair.key + ": " + pair.value; });
    });
  });
}

std::vector<Sample> make_json(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    Pairs pairs(random, uuid, uuid);
    const Pair asked = pairs.at(0);
    sample.depth = grid_depth(i);
    sample.separator = "\n\n";
    sample.question = "Key: \"" + asked.key + "\"\nCorresponding value:";
    sample.opening = "Corresponding value:";
    sample.answers = {asked.value};
    sample.max_tokens = 100;
    fit_to_length(request, sample, 1.0 / 80, 2, [&](Sample& s, int64_t count) {
      s.context =
          "Extract the value corresponding to the specified key in the JSON object below.\n\nJSON "
          "data:\n{" +
          list_of_pairs(
              pairs, count, *s.depth, ",\n ",
              [](const Pair& pair) { return "\"" + pair.key + "\": \"" + pair.value + "\""; }) +
          "}";
    });
  });
}

constexpr std::string_view kPairRule = "the value is in the reply";

constexpr TaskInfo kKeyValueTasks[] = {
    {"key-value", "the value of a key in a list of lines", kPairRule, "our own", true, make_lines},
    {"key-value-uuid", "the value of a UUID in a JSON object", kPairRule,
     "lost in the middle's prompt, at any length", true, make_json},
};

}  // namespace

std::span<const TaskInfo> key_value_tasks() { return kKeyValueTasks; }

}  // namespace longhaul
