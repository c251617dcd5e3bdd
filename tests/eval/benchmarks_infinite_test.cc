// InfiniteBench's tasks: generated samples, and data in its public form.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "eval/benchmarks_run.h"
#include "eval/data_json.h"
#include "eval/haystack.h"
#include "eval/nano.h"
#include "eval/sample_queue.h"
#include "eval/score_text.h"
#include "eval/tasks/benchmark_families.h"

namespace longhaul {
namespace {

using testing_support::packed_data;
using testing_support::request_of;
using testing_support::samples_of;
using testing_support::TempFolder;
using testing_support::write_file;

TEST(InfiniteBench, ExpressionsAndListsAreRight) {
  for (const Sample& s : samples_of("infinitebench/math_find", packed_data(), 2048, 14)) {
    const std::string list = s.context.substr(s.context.find('[') + 1);
    std::vector<int> numbers;
    std::istringstream in(blank_out(list, ",]"));
    for (int number = 0; in >> number;) numbers.push_back(number);
    std::sort(numbers.begin(), numbers.end());
    if (s.group == "largest number") {
      EXPECT_EQ(s.answers[0], std::to_string(numbers.back()));
    }
    if (s.group == "smallest number") {
      EXPECT_EQ(s.answers[0], std::to_string(numbers.front()));
    }
    EXPECT_TRUE(s.context.starts_with("What is the " + s.group + " in the following list?"));
  }
  const Sample calc = samples_of("infinitebench/math_calc", packed_data(), 2048)[0];
  const std::string expression = calc.context.substr(calc.context.rfind("Expression: ") + 12);
  std::istringstream in(expression);
  int value = 0, number = 0;
  char sign = '+';
  in >> value;
  for (size_t i = 1; in >> sign >> number; ++i) {
    value += sign == '+' ? number : -number;
    ASSERT_LT(i, calc.answers.size());
    ASSERT_EQ(calc.answers[i], std::to_string(value));
  }
  EXPECT_EQ(calc.answers.back(), std::to_string(value));
}

/// Follows the calls of the generated functions.
int64_t run(const std::string& code, std::string call) {
  int64_t plus = 0;
  const size_t open = call.find('(');
  const int64_t argument = std::stoll(call.substr(open + 1));
  call.resize(open);
  for (;;) {
    const size_t at = code.find("def " + call + "(x):\n    return ");
    if (at == std::string::npos) throw std::runtime_error("no " + call);
    const size_t begin = code.find("return ", at) + 7;
    std::istringstream line(code.substr(begin, code.find('\n', begin) - begin));
    std::string value, sign;
    int64_t number = 0;
    line >> value;
    if (line >> sign >> number) plus += sign == "+" ? number : -number;
    if (value == "x") return argument + plus;
    call = value.substr(0, value.find('('));
  }
}

TEST(InfiniteBench, FunctionsReturnWhatIsExpected) {
  for (const Sample& s : samples_of("infinitebench/code_run", packed_data(), 4096, 5)) {
    const size_t at = s.question.find("return value of ") + 16;
    EXPECT_EQ(std::to_string(run(s.context, s.question.substr(at))), s.answers[0]);
    const std::string call = s.question.substr(at, s.question.find(')', at) + 1 - at);
    EXPECT_EQ(s.opening, "The value of " + call + " is");
  }
}

TEST(InfiniteBench, LinesHideTheKeyAsThePublishedTextsDo) {
  const Sample s = samples_of("infinitebench/passkey", packed_data(), 2048, 2)[1];
  const std::string& key = s.answers[0];
  EXPECT_EQ(key.size(), 5u);
  const std::string noise(kNoiseLine);
  EXPECT_NE(s.context.find("information there.\n\n" + noise + "\n"), std::string::npos);
  EXPECT_NE(s.context.find("\nThe pass key is " + key + ". Remember it. " + key +
                           " is the pass key.\n" + noise + "\n"),
            std::string::npos);
  EXPECT_TRUE(s.context.ends_with(noise + "\n"));
  EXPECT_EQ(s.separator + s.question, "\n\nWhat is the pass key?");
}

TEST(InfiniteBench, RepliesHaveRoomForASentence) {
  const std::pair<std::string_view, int> expected[] = {{"infinitebench/passkey", 32},
                                                       {"infinitebench/number_string", 32},
                                                       {"infinitebench/kv_retrieval", 100},
                                                       {"infinitebench/math_find", 3},
                                                       {"infinitebench/code_run", 5}};
  for (const auto& [name, tokens] : expected) {
    EXPECT_EQ(samples_of(name, packed_data(), 4096, 1)[0].max_tokens, tokens) << name;
  }
}

/// The endings of InfiniteBench's prompts for base models.
const std::map<std::string_view, std::string_view> kCues = {
    {"infinitebench/longbook_sum_eng", "Summary:"},
    {"infinitebench/longbook_choice_eng", "The letter of the correct answer is"},
    {"infinitebench/longbook_qa_eng", "Answer:"},
    {"infinitebench/longbook_qa_chn", "答案："},
    {"infinitebench/longdialogue_qa_eng",
     "The name that has been replaced with $$MASK$$ is likely"},
    {"infinitebench/code_debug", "The correct option is:"},
};

TEST(InfiniteBench, CuesAreThoseOfThePublishedPrompts) {
  const DataValue prompts =
      member(data_json(packed_data(), "prompts/infinitebench.json"), "templates");
  const DataValue base = member(prompts, "yarn_mistral_templates");
  for (const auto& [task, cue] : kCues) {
    const std::string prompt = text_member(base, task.substr(task.find('/') + 1));
    EXPECT_TRUE(prompt.ends_with(cue)) << prompt;
  }
}

TEST(InfiniteBench, ReadsThePublicForm) {
  const TempFolder folder;
  for (const TaskInfo& task : infinite_filed_tasks()) {
    const bool letters = task.name.find("choice") != std::string_view::npos ||
                         task.name.find("debug") != std::string_view::npos;
    write_file(folder, std::string(task.name) + ".jsonl",
               fmt::format(R"({{"id": 0, "context": "Once.", "input": "Who?", "answer": ["{}"], )"
                           R"("options": ["x", "ROSS", "y", "z"]}})",
                           letters ? "ROSS" : "ROSS\", \"ANNA"));
  }
  const EvalData own(folder.path());
  const DataValue templates =
      member(member(data_json(packed_data(), "prompts/infinitebench.json"), "templates"),
             "yarn_mistral_templates");
  for (const TaskInfo& task : infinite_filed_tasks()) {
    const auto samples = task.make(request_of(own, 4096, 3));
    ASSERT_EQ(samples.size(), 1u) << task.name;
    EXPECT_NE(samples[0].context.find("Once."), std::string::npos);
    EXPECT_EQ(samples[0].opening, kCues.at(task.name)) << task.name;
    const std::string base = text_member(templates, task.name.substr(task.name.find('/') + 1));
    EXPECT_TRUE(base.ends_with(samples[0].before_opening + samples[0].opening)) << task.name;
    EXPECT_EQ(openings_of(samples[0], Openings::kBoth, testing_support::nano_composer()),
              (std::vector<bool>{false, true}));
    const bool named = samples[0].rule.ends_with("choice");
    EXPECT_EQ(score_reply(samples[0], named ? "The answer is: ROSS" : "ROSS"), 1) << task.name;
  }
  const Sample choice = samples_of("infinitebench/longbook_choice_eng", own)[0];
  EXPECT_EQ(choice.answers, (std::vector<std::string>{"ROSS", "B"}));
  EXPECT_EQ(score_reply(choice, "B"), 1);
  EXPECT_EQ(score_reply(choice, "A"), 0);
  EXPECT_NE(choice.question.find("B. ROSS\nC. y"), std::string::npos);
}

}  // namespace
}  // namespace longhaul
