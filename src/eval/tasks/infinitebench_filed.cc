// InfiniteBench's six tasks with texts published by its authors, read from --data DIR.

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "eval/data_json.h"
#include "eval/prompt_template.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/infinitebench.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr std::string_view kInfiniteFamily = "infinitebench/";
constexpr std::string_view kOptionLetters = "ABCD";

/// {text of the answer, its letter}: a reply may name either.
std::vector<std::string> answer_and_letter(const DataValue& record,
                                           const std::vector<std::string>& options) {
  const std::vector<std::string> given = texts_member(record, "answer");
  if (given.size() == 2 && given[1].size() == 1 &&
      kOptionLetters.find(given[1]) != std::string::npos) {
    return given;
  }
  const auto place =
      given.empty() ? options.end() : std::find(options.begin(), options.end(), given.front());
  if (place == options.end()) user_error("{}: the answer is none of the options", record.where);
  return {given.front(),
          std::string(1, kOptionLetters[static_cast<size_t>(place - options.begin())])};
}

/// `opening` is the end of InfiniteBench's prompt for base models, after `before_opening`.
struct InfiniteSet {
  std::string_view name, summary, rule, rule_in_words, opening, before_opening = "\n\n";
};

Sample infinite_sample(const DataValue& record, const InfinitePrompt& prompt,
                       const InfiniteSet& set) {
  Sample sample;
  use_prompt(sample, prompt, set.rule);
  sample.opening = set.opening;
  sample.before_opening = set.before_opening;
  const std::string question = text_member(record, "input");
  std::vector<std::string> options;
  std::vector<PromptField> fields = {{"question", question}};
  if (set.rule.ends_with("choice")) {
    options = texts_member(record, "options");
    if (options.size() != kOptionLetters.size())
      user_error("{}: has not four options", record.where);
    for (size_t i = 0; i < options.size(); ++i) {
      constexpr std::string_view kOptions[] = {"OPTION_A", "OPTION_B", "OPTION_C", "OPTION_D"};
      fields.emplace_back(kOptions[i], options[i]);
    }
    sample.answers = answer_and_letter(record, options);
  } else {
    sample.answers = texts_member(record, "answer");
    // Only the first name is correct, even if others are listed.
    if (set.rule == "name" && !sample.answers.empty()) sample.answers.resize(1);
  }
  place_prompt(sample, prompt.text, text_member(record, "context"), fields);
  return sample;
}

constexpr InfiniteSet kInfiniteSets[] = {
    {"infinitebench/longbook_sum_eng", "a summary of a novel", "rouge-lsum", "ROUGE-Lsum F",
     "Summary:"},
    {"infinitebench/longbook_choice_eng", "a question on a novel with four options",
     "option-choice", "the letter or option that the reply settles on",
     "The letter of the correct answer is"},
    {"infinitebench/longbook_qa_eng", "a question on a novel", "f1", "word F1 (SQuAD)",
     "Answer:", "\n"},
    {"infinitebench/longbook_qa_chn", "a question on a Chinese novel", "f1-chinese",
     "F1 of characters", "答案：", "\n"},
    {"infinitebench/longdialogue_qa_eng", "whose name is masked in a script", "name",
     "the name is a word of the reply", "The name that has been replaced with $$MASK$$ is likely"},
    {"infinitebench/code_debug", "which of four functions has an error", "function-choice",
     "the letter or function that the reply settles on", "The correct option is:"},
};

std::vector<Sample> make_infinite(const TaskRequest& request) {
  const InfiniteSet& set = requested_set(kInfiniteSets, request);
  const InfinitePrompt prompt =
      infinite_prompt(*request.data, set.name.substr(kInfiniteFamily.size()));
  std::vector<Sample> samples;
  for (const DataValue& record :
       data_json_lines(*request.data, fmt::format("{}.jsonl", set.name), request.samples)) {
    Sample sample = infinite_sample(record, prompt, set);
    sample.id = std::to_string(samples.size());
    cut_to_length(request, sample);
    samples.push_back(std::move(sample));
  }
  return samples;
}

constexpr TaskInfo infinite_task(const InfiniteSet& set) {
  constexpr std::string_view kSource =
      "InfiniteBench's prompt; data from --data DIR (infinitebench/*.jsonl)";
  return {set.name, set.summary, set.rule_in_words, kSource, false, make_infinite};
}

constexpr auto kInfiniteFiledTasks = tasks_of_sets(kInfiniteSets, infinite_task);

}  // namespace

std::span<const TaskInfo> infinite_filed_tasks() { return kInfiniteFiledTasks; }

}  // namespace longhaul
