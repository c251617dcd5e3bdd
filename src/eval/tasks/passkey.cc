// A number hidden in repeated noise (Mohtashami and Jaggi 2023, arXiv:2305.16300). InfiniteBench's
// dialect is infinitebench/passkey.

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/noise.h"

namespace longhaul {
namespace {

constexpr std::string_view kDescription =
    "There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. "
    "I will quiz you about the important information there.\n";

std::vector<Sample> make_passkey(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    const std::string key = std::to_string(random.between(1, 50000));
    sample.depth = grid_depth(i);
    sample.question = "What is the pass key?";
    sample.opening = "The pass key is";
    sample.separator = "\n";
    sample.answers = {key};
    sample.rule = "first-integer";
    sample.max_tokens = 32;
    fit_noise(request, sample, passkey_line(key), " ",
              [&](Sample& filled, const std::string& noise) {
                filled.context = kDescription;
                filled.context += noise;
              });
  });
}

constexpr TaskInfo kPasskeyTasks[] = {
    {"passkey", "a number up to 50,000 in repeated noise",
     "the reply's first run of digits is the key",
     "prompt of Landmark attention, LongLoRA and PoSE", true, make_passkey},
};

}  // namespace

std::span<const TaskInfo> passkey_tasks() { return kPasskeyTasks; }

}  // namespace longhaul
