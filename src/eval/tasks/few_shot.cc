// Short prompts with worked examples, to check that a method does no harm on short texts.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "eval/data_json.h"
#include "eval/random.h"
#include "eval/score_text.h"
#include "eval/tasks/benchmark_families.h"

namespace longhaul {
namespace {

constexpr size_t kShots = 5;
constexpr size_t kChoices = 4;

/// As many indices below `total` as requested samples, in an order that depends only on the seed.
std::vector<size_t> draw(const TaskRequest& request, size_t total) {
  std::vector<size_t> order(total);
  for (size_t i = 0; i < total; ++i) order[i] = i;
  Random(request.task, request.seed, 0, 0).shuffle(order);
  order.resize(std::min(total, static_cast<size_t>(std::max(request.samples, 0))));
  return order;
}

std::string letter_question(const DataValue& entry) {
  const std::vector<std::string> choices = texts_member(entry, "choices");
  if (choices.size() != kChoices) user_error("{}: has not four choices", entry.where);
  return fmt::format("{}\nA. {}\nB. {}\nC. {}\nD. {}\nAnswer:", text_member(entry, "question"),
                     choices[0], choices[1], choices[2], choices[3]);
}

std::vector<Sample> make_mmlu(const TaskRequest& request) {
  std::map<std::string, std::string> examples;
  std::map<std::string, size_t> shots;
  for (const DataValue& entry : data_json_lines(*request.data, "mmlu/dev.jsonl")) {
    const std::string subject = text_member(entry, "subject");
    if (++shots[subject] > kShots) continue;
    examples[subject] +=
        fmt::format("{} {}\n\n", letter_question(entry), text_member(entry, "answer"));
  }
  const DataJsonLines questions(*request.data, "mmlu/test.jsonl");
  std::vector<Sample> samples;
  for (const size_t i : draw(request, questions.size())) {
    Sample sample;
    sample.id = std::to_string(i);
    const DataValue asked = questions.at(i);
    sample.group = text_member(asked, "subject");
    std::string subject = sample.group;
    replace_all(subject, "_", " ");
    sample.context =
        fmt::format("The following are multiple choice questions (with answers) about {}.\n\n{}",
                    subject, trim(examples[sample.group]));
    sample.separator = "\n\n";
    sample.question = letter_question(asked);
    sample.answers = {text_member(asked, "answer")};
    sample.rule = "lone-letter";
    sample.chat = false;
    sample.max_tokens = 4;
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::string worked(const DataValue& entry) {
  return fmt::format("Question: {}\nAnswer: {}", text_member(entry, "question"),
                     text_member(entry, "answer"));
}

std::vector<Sample> make_gsm8k(const TaskRequest& request) {
  const DataJsonLines entries(*request.data, "gsm8k/test.jsonl");
  if (entries.size() <= kShots) user_error("gsm8k/test.jsonl: {} entries only", entries.size());
  const size_t questions = entries.size() - kShots;
  std::string examples;
  for (size_t i = questions; i < entries.size(); ++i) {
    examples += (examples.empty() ? "" : "\n\n") + worked(entries.at(i));
  }
  std::vector<Sample> samples;
  for (const size_t i : draw(request, questions)) {
    const DataValue asked = entries.at(i);
    const std::string answer = text_member(asked, "answer");
    const size_t mark = answer.rfind("####");
    if (mark == std::string::npos) user_error("{}: the answer has no ####", asked.where);
    Sample sample;
    sample.id = std::to_string(i);
    sample.context = examples;
    sample.separator = "\n\n";
    sample.question = fmt::format("Question: {}\nAnswer:", text_member(asked, "question"));
    sample.answers = {std::string(trim(std::string_view(answer).substr(mark + 4)))};
    sample.rule = "number";
    sample.stop = {"Question:", "\n\n"};
    sample.chat = false;
    sample.max_tokens = 256;
    samples.push_back(std::move(sample));
  }
  return samples;
}

constexpr TaskInfo kFewShotTasks[] = {
    {"mmlu", "multiple choice after five worked examples", "the first lone letter A-D is right",
     "MMLU's prompt without a chat template", false, make_mmlu},
    {"gsm8k", "word problems after five worked ones", "the last number is the answer",
     "GSM8K's test set; its last five problems are the examples", false, make_gsm8k},
};

}  // namespace

std::span<const TaskInfo> few_shot_tasks() { return kFewShotTasks; }

}  // namespace longhaul
