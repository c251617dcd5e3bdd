// Variables assigned to each other, with their lines scattered over a book: RULER's variable
// tracking (arXiv:2404.06654) without its worked example.

#include <fmt/format.h>

#include <set>

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr int kVariables = 5;  // the first and four hops
constexpr int kNameLetters = 5;

std::string variable_name(Random& random) {
  std::string name;
  for (int i = 0; i < kNameLetters; ++i) name += static_cast<char>('A' + random.below(26));
  return name;
}

std::vector<Sample> make_tracing(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int) {
    const BookStretch stretch(*request.data, random);
    const std::string value = std::to_string(random.between(10000, 99998));
    std::set<std::string> used;
    std::vector<Hidden> lines;
    double depth = 0;
    while (static_cast<int>(sample.answers.size()) < kVariables) {
      const std::string name = variable_name(random);
      if (!used.insert(name).second) continue;
      const std::string right = sample.answers.empty() ? value : "VAR " + sample.answers.back();
      depth = (static_cast<double>(lines.size()) + random.unit()) / kVariables;
      lines.push_back({fmt::format("VAR {} = {}", name, right), depth});
      sample.answers.push_back(name);
    }
    sample.question =
        "Question: Find all variables that are assigned the value " + value + " in the text above.";
    sample.opening =
        "Answer: According to the chain(s) of variable assignment in the text above, 5 variables "
        "are assigned the value " +
        value + ", they are:";
    sample.max_tokens = 100;
    fit_book_text(request, sample, stretch, [&](std::string_view text) {
      return "Memorize and track the chain(s) of variable assignment hidden in the following "
             "text.\n\n" +
             hide(text, lines, "\n", "\n");
    });
  });
}

constexpr TaskInfo kTracingTasks[] = {
    {"variables", "five variables that hold the same value, through each other",
     "share of the five names that are in the reply",
     "RULER's prompt without the worked example; public-domain books", true, make_tracing},
};

}  // namespace

std::span<const TaskInfo> tracing_tasks() { return kTracingTasks; }

}  // namespace longhaul
