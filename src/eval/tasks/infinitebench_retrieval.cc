// InfiniteBench's three retrieval tasks, with texts generated at any length.

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "eval/data_json.h"
#include "eval/haystack.h"
#include "eval/prompt_template.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/infinitebench.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/noise.h"

namespace longhaul {
namespace {

constexpr double kPairsPerToken = 1.0 / 80;

/// InfLLM's reply lengths. InfiniteBench's own 6, 12 and 50 tokens fit only the bare answer, not a
/// reply that begins with "The pass key is".
constexpr struct {
  std::string_view name;
  int tokens;
} kRetrievalReplies[] = {{"passkey", 32}, {"number_string", 32}, {"kv_retrieval", 100}};

/// Any five digits, including leading zeros.
std::string five_digits(Random& random) {
  std::string key;
  while (key.size() < 5) key += static_cast<char>('0' + random.below(10));
  return key;
}

/// A line at a depth among lines of noise, and a question about it.
void fit_lines(const TaskRequest& request, Sample& sample, const InfinitePrompt& prompt,
               std::string_view line, std::string_view question) {
  const PromptField fields[] = {{"input", question}};
  fit_noise(request, sample, line, "\n", [&](Sample& filled, const std::string& noise) {
    place_prompt(filled, prompt.text, noise + "\n", fields);
  });
}

std::vector<Sample> make_infinite_passkey(const TaskRequest& request) {
  const InfinitePrompt prompt = infinite_prompt(*request.data, "passkey");
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    use_prompt(sample, prompt, "first-integer");
    const std::string key = five_digits(random);
    sample.answers = {key};
    sample.opening = "The pass key is";
    sample.before_opening = "\n\n";
    sample.depth = grid_depth(i);
    fit_lines(request, sample, prompt, passkey_line(key), "What is the pass key?");
  });
}

std::vector<Sample> make_number_string(const TaskRequest& request) {
  const InfinitePrompt prompt = infinite_prompt(*request.data, "number_string");
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    use_prompt(sample, prompt, "first-integer");
    std::string key = five_digits(random);
    while (key.size() < 10) {  // repeats a digit beside itself
      const auto at = static_cast<size_t>(random.below(key.size()));
      key.insert(at, 1, key[at]);
    }
    sample.answers = {key};
    sample.opening = "The sequence of digits is";
    sample.before_opening = "\n\n";
    sample.depth = grid_depth(i);
    fit_lines(
        request, sample, prompt,
        fmt::format("The sequence of digits is {0}. Remember it. {0} is the sequence of digits.",
                    key),
        "What is the sequence of digits?");
  });
}

std::vector<Sample> make_pairs(const TaskRequest& request) {
  const InfinitePrompt prompt = infinite_prompt(*request.data, "kv_retrieval");
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    use_prompt(sample, prompt, "whole-word");
    const std::string key = random.uuid();
    sample.answers = {random.uuid()};
    sample.opening = "The value associated with the specified key is:";
    sample.depth = grid_depth(i);
    const std::string question =
        fmt::format("\nKey: \"{}\"\nThe value associated with the specified key is: ", key);
    const PromptField fields[] = {{"input", question}};
    const uint64_t seed = random.bits();
    fit_to_length(request, sample, kPairsPerToken, 2, [&](Sample& filled, int64_t pairs) {
      Random again(seed);
      const int64_t place = std::llround(*filled.depth * static_cast<double>(pairs - 1));
      std::string text = "JSON data:\n{";
      for (int64_t p = 0; p < pairs; ++p) {
        const std::string other_key = again.uuid(), other_value = again.uuid();
        text += fmt::format("{}\"{}\": \"{}\"", p == 0 ? "" : ", ", p == place ? key : other_key,
                            p == place ? filled.answers[0] : other_value);
      }
      place_prompt(filled, prompt.text, text + "}", fields);
    });
  });
}

constexpr std::string_view kRetrievalSource = "InfiniteBench's prompt and generator, at any length";

constexpr TaskInfo kRetrievalTasks[] = {
    {"infinitebench/passkey", "a key of five digits in noise", "the first integer is the key",
     kRetrievalSource, true, make_infinite_passkey},
    {"infinitebench/number_string", "ten digits with runs in noise",
     "the first integer is the sequence", kRetrievalSource, true, make_number_string},
    {"infinitebench/kv_retrieval", "the value of a UUID in a JSON object",
     "the value is a word of the reply", kRetrievalSource, true, make_pairs},
};

}  // namespace

InfinitePrompt infinite_prompt(const EvalData& data, std::string_view name, bool base) {
  const DataValue file = data_json(data, "prompts/infinitebench.json");
  const DataValue sets = member(file, "templates");
  const DataValue set = member(sets, base ? "yarn_mistral_templates" : "gpt4_templates");
  for (const auto& reply : kRetrievalReplies) {
    if (reply.name == name) return {text_member(set, name), reply.tokens};
  }
  return {text_member(set, name), count_member(member(file, "max_new_tokens"), name)};
}

void use_prompt(Sample& sample, const InfinitePrompt& prompt, std::string_view rule) {
  sample.max_tokens = prompt.max_tokens;
  sample.rule = rule;
}

std::span<const TaskInfo> infinite_retrieval_tasks() { return kRetrievalTasks; }

}  // namespace longhaul
