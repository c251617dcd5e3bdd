// InfiniteBench's counting and computing tasks, with texts generated at any length.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "eval/haystack.h"
#include "eval/prompt_template.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/infinitebench.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr double kNumbersPerToken = 1.0 / 4;
constexpr double kFunctionsPerToken = 1.0 / 25;
constexpr int64_t kLargestNumber = 99;

constexpr std::string_view kRanks[] = {
    "largest number",         "second largest number", "third largest number", "smallest number",
    "second smallest number", "third smallest number", "median number"};

/// The number of a rank: 0-2 largest, 3-5 smallest, 6 median; halves as "49.5".
std::string ranked(std::vector<int64_t> numbers, size_t rank) {
  std::sort(numbers.begin(), numbers.end());
  if (rank == 6) {
    const size_t middle = numbers.size() / 2;
    if (numbers.size() % 2 == 1) return std::to_string(numbers[middle]);
    const int64_t twice = numbers[middle] + numbers[middle - 1];
    return fmt::format("{}{}", twice / 2, twice % 2 == 0 ? "" : ".5");
  }
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  const size_t n = rank % 3;
  LH_ASSERT(n < numbers.size());
  return std::to_string(rank < 3 ? numbers[numbers.size() - 1 - n] : numbers[n]);
}

std::vector<Sample> make_find(const TaskRequest& request) {
  const InfinitePrompt prompt = infinite_prompt(*request.data, "math_find");
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    use_prompt(sample, prompt, "first-number");
    const size_t rank = static_cast<size_t>(i) % std::size(kRanks);
    sample.group = kRanks[rank];
    // One end of the range varies, because otherwise the answer would nearly always be 0 or 99.
    const bool low_end = rank == 6 ? random.below(2) == 0 : rank >= 3;
    const int64_t least = low_end ? random.between(0, kLargestNumber / 5) : 0;
    const int64_t most =
        low_end ? kLargestNumber : random.between(kLargestNumber * 4 / 5, kLargestNumber);
    const std::string prefix = fmt::format("What is the {} in the following list?", kRanks[rank]);
    const std::string input = fmt::format(
        "You should answer with only one number, no other words. The {} of the list is: ",
        kRanks[rank]);
    const PromptField fields[] = {{"prefix", prefix}, {"input", input}};
    const uint64_t seed = random.bits();
    fit_to_length(request, sample, kNumbersPerToken, 50, [&](Sample& filled, int64_t count) {
      Random again(seed);
      std::vector<int64_t> numbers(static_cast<size_t>(count));
      for (int64_t& number : numbers) number = again.between(least, most);
      filled.answers = {ranked(numbers, rank)};
      const std::string list = fmt::format("[{}]", fmt::join(numbers, ", "));
      place_prompt(filled, prompt.text, list, fields);
    });
  });
}

std::vector<Sample> make_calc(const TaskRequest& request) {
  const InfinitePrompt prompt = infinite_prompt(*request.data, "math_calc", true);
  return make_samples(request, [&](Sample& sample, Random& random, int) {
    use_prompt(sample, prompt, "running-values");
    // The reply contains the value of every number of the expression.
    sample.max_tokens = static_cast<int>(
        std::min<int64_t>(prompt.max_tokens, std::max<int64_t>(1, request.length / 2)));
    const uint64_t seed = random.bits();
    fit_to_length(request, sample, kNumbersPerToken, 2, [&](Sample& filled, int64_t count) {
      Random again(seed);
      int64_t value = again.between(0, kLargestNumber);
      std::string text = std::to_string(value);
      filled.answers = {text};
      for (int64_t n = 1; n < count; ++n) {
        const bool add = again.below(2) == 0;
        const int64_t room = add ? kLargestNumber - value : value;
        int64_t number = again.between(0, kLargestNumber);
        if (number > room) number = again.between(0, room);
        value += add ? number : -number;
        text += fmt::format(" {} {}", add ? '+' : '-', number);
        filled.answers.push_back(std::to_string(value));
      }
      place_prompt(filled, prompt.text, text, {});
    });
  });
}

/// Functions in levels; each calls one of the next level and adds a number.
struct Functions {
  std::string text, call;
  int64_t result = 0;
};

Functions draw_functions(int64_t count, int64_t levels, Random& random) {
  const int64_t per_level = std::max<int64_t>(1, count / levels);
  std::set<int64_t> drawn;
  while (static_cast<int64_t>(drawn.size()) < per_level * levels) {
    drawn.insert(random.between(1, 2 * per_level * levels));
  }
  std::vector<int64_t> names(drawn.begin(), drawn.end());
  random.shuffle(names);
  std::vector<std::pair<int64_t, std::string>> sources;
  const int64_t argument = random.between(-10, 10);
  int64_t asked = static_cast<int64_t>(random.below(static_cast<uint64_t>(per_level)));
  Functions functions{"", fmt::format("func_{}({})", names[static_cast<size_t>(asked)], argument),
                      argument};
  for (int64_t level = 0; level < levels; ++level) {
    int64_t followed = 0;
    for (int64_t i = 0; i < per_level; ++i) {
      const int64_t next = random.between(0, per_level - 1), plus = random.between(-12, 17);
      const std::string value =
          level + 1 == levels
              ? "x"
              : fmt::format("func_{}(x)",
                            names[static_cast<size_t>((level + 1) * per_level + next)]);
      const std::string sum =
          plus == 0 ? "" : fmt::format(" {} {}", plus < 0 ? '-' : '+', std::abs(plus));
      const int64_t name = names[static_cast<size_t>(level * per_level + i)];
      sources.emplace_back(name,
                           fmt::format("def func_{}(x):\n    return {}{}\n\n", name, value, sum));
      if (i != asked) continue;
      functions.result += plus;
      followed = next;
    }
    asked = followed;
  }
  std::sort(sources.begin(), sources.end());
  for (const auto& [name, source] : sources) functions.text += source;
  return functions;
}

std::vector<Sample> make_run(const TaskRequest& request) {
  const InfinitePrompt prompt = infinite_prompt(*request.data, "code_run");
  return make_samples(request, [&](Sample& sample, Random& random, int i) {
    use_prompt(sample, prompt, "last-integer");
    const int64_t levels = 2 * (1 + i % 5);
    sample.group = fmt::format("{} calls", levels);
    const uint64_t seed = random.bits();
    fit_to_length(request, sample, kFunctionsPerToken, levels, [&](Sample& filled, int64_t count) {
      Random again(seed);
      const Functions functions = draw_functions(count, levels, again);
      filled.answers = {std::to_string(functions.result)};
      filled.opening = fmt::format("The value of {} is", functions.call);
      const std::string_view call = functions.call;
      const PromptField fields[] = {{"func", call.substr(0, call.find('('))}, {"func_call", call}};
      place_prompt(filled, prompt.text,
                   "\nHere is the content of functions_module.py:\n\n" + functions.text, fields);
    });
  });
}

constexpr std::string_view kComputedSource = "InfiniteBench's prompt and generator, at any length";

constexpr TaskInfo kComputedTasks[] = {
    {"infinitebench/math_find", "the largest, smallest or median of many numbers",
     "the first number is the answer", kComputedSource, true, make_find},
    {"infinitebench/math_calc", "all intermediate values of an expression",
     "share of the values that are right from the start on; the first number counts as the "
     "prompt's "
     "examples show",
     kComputedSource, true, make_calc},
    {"infinitebench/code_run", "the value of functions that call each other",
     "the last word is the value", kComputedSource, true, make_run},
};

}  // namespace

std::span<const TaskInfo> infinite_computed_tasks() { return kComputedTasks; }

}  // namespace longhaul
