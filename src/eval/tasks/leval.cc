// L-Eval's closed tasks (An et al. 2023, arXiv:2307.11088): documents with many questions each,
// read from --data DIR. The instruction is our own, because L-Eval's is GPL.

#include <fmt/format.h>

#include "base/error.h"
#include "eval/data_json.h"
#include "eval/prompt_template.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr std::string_view kLetterSystem =
    "Read the document and answer the question about it. Reply with the letter of the one right "
    "option and nothing else.";
constexpr std::string_view kTruthSystem =
    "Read the story and say whether the statement is true in its world. Reply with True or False.";
constexpr std::string_view kMathSystem =
    "Solve the last problem the way the examples do. End with \"The answer is\" and the number.";

struct LevalSet {
  std::string_view name, summary, system, rule, rule_in_words;
  int max_tokens;
};

constexpr LevalSet kLevalSets[] = {
    {"leval/quality", "a question on a story with four options", kLetterSystem, "lone-letter",
     "the first lone letter A-D is right", 32},
    {"leval/tpo", "a question on a lecture with four options", kLetterSystem, "lone-letter",
     "the first lone letter A-D is right", 32},
    {"leval/sci_fi", "true or false in the world of a story", kTruthSystem, "true-false",
     "true or false, whichever comes first", 32},
    {"leval/gsm100", "a word problem after 16 worked ones", kMathSystem, "number",
     "the last number is the answer", 512},
};

/// "(B) They escaped" and "B" become B; "True [fact: False]" becomes True: the story counts, not
/// reality.
std::string answer_of(const std::string& output, const LevalSet& set, const std::string& where) {
  if (set.rule == "true-false") return output.substr(0, output.find(' '));
  if (set.rule == "number") return output;
  const size_t at = output.find_first_of("ABCD");
  if (at == std::string::npos) user_error("{}: output \"{}\" has no letter A-D", where, output);
  return output.substr(at, 1);
}

std::vector<Sample> make_leval(const TaskRequest& request) {
  const LevalSet& set = requested_set(kLevalSets, request);
  std::vector<Sample> samples;
  const auto enough = [&] { return static_cast<int>(samples.size()) >= request.samples; };
  for (const DataValue& record :
       data_json_lines(*request.data, fmt::format("{}.jsonl", set.name), request.samples)) {
    const std::vector<std::string> questions = texts_member(record, "instructions");
    const std::vector<std::string> outputs = texts_member(record, "outputs");
    if (questions.size() != outputs.size()) {
      user_error("{}: {} instructions, {} outputs", record.where, questions.size(), outputs.size());
    }
    const std::string document = text_member(record, "input");
    for (size_t i = 0; i < questions.size() && !enough(); ++i) {
      Sample sample;
      sample.id = std::to_string(samples.size());
      sample.system = set.system;
      sample.context = document;
      sample.separator = "\n\n";
      sample.question = questions[i];
      sample.answers = {answer_of(outputs[i], set, record.where)};
      sample.rule = set.rule;
      sample.max_tokens = set.max_tokens;
      cut_to_length(request, sample);
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

constexpr TaskInfo leval_task(const LevalSet& set) {
  constexpr std::string_view kSource =
      "L-Eval's questions, our own instruction; data from --data DIR (leval/*.jsonl)";
  return {set.name, set.summary, set.rule_in_words, kSource, false, make_leval};
}

constexpr auto kLevalTasks = tasks_of_sets(kLevalSets, leval_task);

}  // namespace

std::span<const TaskInfo> leval_tasks() { return kLevalTasks; }

}  // namespace longhaul
