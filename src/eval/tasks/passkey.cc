// A number hidden in repeated noise (Mohtashami and Jaggi 2023, arXiv:2305.16300;
// InfiniteBench, arXiv:2402.13718).

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/noise.h"

namespace longhaul {
namespace {

constexpr std::string_view kDescription =
    "There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. "
    "I will quiz you about the important information there.";

/// What the published prompts do differently.
struct Dialect {
  std::string_view task;
  std::string_view after_description, between_lines, before_question, before_opening;
  std::string (*key)(Random& random);
};

std::string up_to_50000(Random& random) { return std::to_string(random.between(1, 50000)); }
std::string five_digits(Random& random) { return random.digits(5); }

constexpr Dialect kLandmark = {"passkey", "\n", " ", "\n", " ", up_to_50000};
constexpr Dialect kInfiniteBench = {
    "passkey-infinitebench", "\n\n", "\n", "\n\n", "\n\n", five_digits};

std::vector<Sample> make(const TaskRequest& request, const Dialect& dialect) {
  return make_samples(request, dialect.task, [&](Sample& sample, Random& random, int i) {
    const std::string key = dialect.key(random);
    sample.depth = grid_depth(i);
    sample.question = "What is the pass key?";
    sample.opening = "The pass key is";
    sample.before_opening = dialect.before_opening;
    sample.separator = dialect.before_question;
    sample.answers = {key};
    sample.rule = "first-integer";
    sample.max_tokens = 32;
    fit_noise(request, sample, passkey_line(key), dialect.between_lines,
              [&](Sample& filled, const std::string& noise) {
                filled.context = kDescription;
                filled.context += dialect.after_description;
                filled.context += noise;
              });
  });
}

std::vector<Sample> make_landmark(const TaskRequest& request) { return make(request, kLandmark); }
std::vector<Sample> make_infinitebench(const TaskRequest& request) {
  return make(request, kInfiniteBench);
}

constexpr std::string_view kRule = "the reply's first run of digits is the key";

constexpr TaskInfo kTasks[] = {
    {"passkey", "a number up to 50,000 in repeated noise", kRule,
     "prompt of Landmark attention, LongLoRA and PoSE", true, make_landmark},
    {"passkey-infinitebench", "a number of five digits in lines of noise", kRule,
     "InfiniteBench's passkey, at any length", true, make_infinitebench},
};

}  // namespace

std::span<const TaskInfo> passkey_tasks() { return kTasks; }

}  // namespace longhaul
