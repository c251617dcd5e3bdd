// RULER's variable tracking: a chain of assignments hidden in noise, after one worked example.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "eval/data_json.h"
#include "eval/haystack.h"
#include "eval/prompt_template.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/make_samples.h"
#include "eval/tasks/ruler.h"

namespace longhaul {
namespace {

constexpr int kHops = 4;
constexpr int kChainNames = kHops + 1;
constexpr int64_t kExampleTokens = 500;

std::string letters(int count, Random& random) {
  std::string name;
  while (static_cast<int>(name.size()) < count) name += static_cast<char>('A' + random.below(26));
  return name;
}

struct Chain {
  std::vector<std::string> names;
  std::string value;
};

Chain draw_chain(int name_letters, Random& random) {
  Chain chain;
  while (chain.names.size() < kChainNames) {
    const std::string name = letters(name_letters, random);
    if (std::find(chain.names.begin(), chain.names.end(), name) == chain.names.end()) {
      chain.names.push_back(name);
    }
  }
  chain.value = std::to_string(random.between(10000, 99998));
  return chain;
}

/// Places assignments in order at random places among lines of noise.
std::string hidden_chain(const Chain& chain, int64_t noise_lines, Random& random) {
  std::set<int64_t> places;
  while (places.size() < kChainNames) places.insert(random.between(0, noise_lines - 1));
  std::string text;
  size_t next = 0;
  for (int64_t i = 0; i < noise_lines; ++i) {
    if (i > 0) text += '\n';
    if (places.contains(i)) {
      text += next == 0 ? fmt::format("VAR {} = {}", chain.names[0], chain.value)
                        : fmt::format("VAR {} = VAR {} ", chain.names[next], chain.names[next - 1]);
      text += '\n';
      ++next;
    }
    text += kNoiseLine;
  }
  return text;
}

/// Number of lines of a worked example with at most 500 tokens: as many lines as fit.
int64_t example_lines(const TaskRequest& request, const RulerTemplate& prompt) {
  TaskRequest short_request = request;
  short_request.length = std::min(request.length / 2, kExampleTokens);
  Sample sample;
  sample.max_tokens = 0;
  int64_t lines = kChainNames;
  fit_to_length(short_request, sample, 1.0 / 25, kChainNames, [&](Sample& filled, int64_t count) {
    Random random("ruler/vt example", 0, 0, 0);
    const Chain chain = draw_chain(3, random);
    const PromptField fields[] = {{"query", chain.value}, {"num_v", "5"}};
    place_prompt(filled, prompt.text + prompt.answer_prefix, hidden_chain(chain, count, random),
                 fields);
    lines = count;
  });
  return lines;
}

std::string worked_example(const RulerTemplate& prompt, int64_t lines, Random& random) {
  const Chain chain = draw_chain(3, random);
  const std::string text = hidden_chain(chain, lines, random);
  const PromptField fields[] = {{"context", text}, {"query", chain.value}, {"num_v", "5"}};
  return fmt::format("{} {}\n\n", fill_in(prompt.text + prompt.answer_prefix, fields),
                     fmt::join(chain.names, " "));
}

std::vector<Sample> make_vt(const TaskRequest& request) {
  const RulerTemplate prompt = ruler_template(*request.data, "variable_tracking");
  const int64_t lines_of_example = example_lines(request, prompt);
  return make_samples(request, [&](Sample& sample, Random& random, int) {
    const std::string example = worked_example(prompt, lines_of_example, random);
    const Chain chain = draw_chain(5, random);
    const PromptField fields[] = {{"query", chain.value}, {"num_v", "5"}};
    sample.answers = chain.names;
    sample.opening = fill_in(prompt.answer_prefix, fields);
    sample.max_tokens = prompt.max_tokens;
    const uint64_t seed = random.bits();
    fit_to_length(request, sample, 1.0 / 25, kChainNames, [&](Sample& filled, int64_t lines) {
      Random again(seed);
      place_prompt(filled, prompt.text, hidden_chain(chain, lines, again), fields);
      filled.context.insert(0, example);
    });
  });
}

constexpr TaskInfo kVtTasks[] = {
    {"ruler/vt", "all variables of a chain of assignments in noise",
     "share of the five names that are in the reply", "RULER's prompt, noise and worked example",
     true, make_vt},
};

}  // namespace

std::span<const TaskInfo> ruler_vt_tasks() { return kVtTasks; }

}  // namespace longhaul
