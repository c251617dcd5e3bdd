// A number hidden in repeated noise (Mohtashami and Jaggi 2023, arXiv:2305.16300;
// InfiniteBench, arXiv:2402.13718).

#include <cmath>

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr std::string_view kDescription =
    "There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. "
    "I will quiz you about the important information there.";
constexpr double kLinesPerToken = 1.0 / 25;

/// `lines` lines of noise with the key's line after a share `depth` of them.
std::string noise_with(const std::string& line, int64_t lines, double depth,
                       std::string_view between) {
  const auto before = std::llround(depth * static_cast<double>(lines));
  std::string text;
  for (int64_t i = 0; i <= lines; ++i) {
    if (i > 0) text += between;
    if (i == before) {
      text += line;
    } else {
      text += kNoiseLine;
    }
  }
  return text;
}

std::vector<Sample> make(const TaskRequest& request, std::string_view task,
                         std::string_view after_description, std::string_view between,
                         std::string_view before_question, bool five_digits) {
  return make_samples(request, task, [&](Sample& sample, Random& random, int i) {
    const std::string key =
        five_digits ? random.digits(5) : std::to_string(random.between(1, 50000));
    const std::string line =
        "The pass key is " + key + ". Remember it. " + key + " is the pass key.";
    sample.depth = grid_depth(i);
    sample.question = "What is the pass key?";
    sample.opening = "The pass key is";
    sample.separator = before_question;
    sample.answers = {key};
    sample.match = Match::kFirstInteger;
    sample.max_tokens = 32;
    fit_to_length(request, sample, kLinesPerToken, 1, [&](Sample& s, int64_t lines) {
      s.context = std::string(kDescription) + std::string(after_description) +
                  noise_with(line, lines, *s.depth, between);
    });
  });
}

std::vector<Sample> make_landmark(const TaskRequest& request) {
  return make(request, "passkey", "\n", " ", "\n", false);
}

std::vector<Sample> make_infinitebench(const TaskRequest& request) {
  return make(request, "passkey-infinitebench", "\n\n", "\n", "\n\n", true);
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
