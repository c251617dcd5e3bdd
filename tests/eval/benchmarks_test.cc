// Tasks of the published benchmarks, with the packed data and with data in public forms.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "eval/benchmarks_run.h"
#include "eval/prompt_template.h"
#include "eval/runner.h"
#include "eval/score_text.h"
#include "eval/tasks/benchmark_families.h"

namespace longhaul {
namespace {

using testing_support::all_answers;
using testing_support::check_task;
using testing_support::error_of;
using testing_support::has;
using testing_support::packed_data;
using testing_support::prompt_text;
using testing_support::request_of;
using testing_support::samples_of;
using testing_support::TempFolder;
using testing_support::write_file;

TEST(PromptTemplate, FillsEveryNameOnce) {
  const PromptField fields[] = {{"a", "{b}"}, {"b", "two"}};
  EXPECT_EQ(fill_in("{a} {b} {c} {", fields), "{b} two {c} {");
  Sample sample;
  place_prompt(sample, "Read {a}.\n{context}\n\nQ: {b}?\n", "T{a}", fields);
  EXPECT_EQ(sample.context, "Read {b}.\nT{a}");
  EXPECT_EQ(sample.separator, "\n\n");
  EXPECT_EQ(sample.question, "Q: two?\n");
}

TEST(PromptTemplate, CutsTheMiddleOutOfWholeCharacters) {
  TaskRequest request = request_of(packed_data(), 1000, 1);
  request.prompt_tokens = [](const Sample& s) {
    EXPECT_EQ(to_utf8(to_characters(s.context)), s.context) << "a character is torn";
    return static_cast<int64_t>(s.context.size());
  };
  Sample sample;
  sample.max_tokens = 100;
  sample.context = "begin";
  for (int i = 0; i < 1000; ++i) sample.context += "ü好";
  sample.context += "end";
  cut_to_length(request, sample);
  EXPECT_LE(sample.context.size(), 900u);
  EXPECT_GE(sample.context.size(), 880u);
  EXPECT_TRUE(sample.context.starts_with("beginü") && sample.context.ends_with("好end"));
  EXPECT_EQ(sample.cut_tokens, 5008 - static_cast<int64_t>(sample.context.size()));
  EXPECT_EQ(sample.cut_to, 1000);
  request.prompt_tokens = [](const Sample&) { return int64_t{2000}; };
  EXPECT_THROW(cut_to_length(request, sample), UserError);
}

TEST(Benchmarks, TasksOfAnyLengthFitAndRepeat) {
  for (const auto family : {infinite_retrieval_tasks(), infinite_computed_tasks(), babilong_tasks(),
                            document_tasks()}) {
    for (const TaskInfo& task : family) {
      ASSERT_TRUE(task.scales) << task.name;
      check_task(task, packed_data(), 8192);
    }
  }
}

TEST(Benchmarks, RightRepliesAreRight) {
  for (const auto family : {infinite_retrieval_tasks(), infinite_computed_tasks(), babilong_tasks(),
                            document_tasks(), few_shot_tasks()}) {
    for (const TaskInfo& task : family) {
      for (const Sample& s : task.make(request_of(packed_data(), 8192, 4))) {
        // BABILong's rule finds "one" in "none" and counts two labels.
        if (s.rule == "labels" && s.answers.front() == "none") continue;
        const bool all = s.rule == "running-values";
        EXPECT_EQ(score_reply(s, all ? all_answers(s) : s.answers.front()), 1)
            << task.name << ": " << s.answers.front();
      }
    }
  }
}

TEST(LongBench, PackedSetsHaveItsForm) {
  EXPECT_EQ(longbench_tasks().size(), 21u);
  const auto questions = samples_of("longbench/multifieldqa_zh", packed_data(), 0, 200);
  ASSERT_EQ(questions.size(), 200u);
  EXPECT_TRUE(questions[0].context.starts_with("阅读以下文字并用中文简短回答：\n\n"));
  EXPECT_TRUE(questions[0].question.ends_with("\n回答："));
  EXPECT_EQ(questions[0].answers, std::vector<std::string>{"厦门大学。"});
  EXPECT_EQ(score_reply(questions[0], "厦门大学"), 1);
  const auto passages = samples_of("longbench/passage_retrieval_zh", packed_data(), 0, 300);
  ASSERT_EQ(passages.size(), 200u);
  EXPECT_EQ(score_reply(passages[0], "答案是：" + passages[0].answers[0]), 1);
  for (const Sample& s : passages) EXPECT_TRUE(s.answers[0].starts_with("段落"));
}

TEST(LongBench, LongTextsLoseTheirMiddle) {
  const Sample whole = samples_of("longbench/multifieldqa_zh", packed_data(), 0, 1)[0];
  const Sample cut = samples_of("longbench/multifieldqa_zh", packed_data(), 2048, 1)[0];
  EXPECT_EQ(whole.cut_tokens, 0);
  EXPECT_NEAR(static_cast<double>(cut.cut_tokens),
              static_cast<double>(whole.context.size() - cut.context.size()) / 4, 1);
  EXPECT_EQ(cut.cut_to, 2048);
  EXPECT_LT(cut.context.size(), 8300u);
  EXPECT_GT(cut.context.size(), 7000u);
  EXPECT_EQ(cut.context.substr(0, 3000), whole.context.substr(0, 3000));
  EXPECT_EQ(cut.context.substr(cut.context.size() - 3000),
            whole.context.substr(whole.context.size() - 3000));
}

TEST(LongBench, ReadsThePublicForm) {
  const TempFolder folder;
  const std::string record =
      R"({"input": "What is it?", "context": "a dog\na cat", "answers": ["City"], "length": 5000,)"
      R"( "dataset": "x", "language": "en", "all_classes": ["City", "Date"], "_id": "1"})";
  for (const TaskInfo& task : longbench_tasks()) {
    write_file(folder, std::string(task.name) + ".jsonl", record + "\n\n" + record + "\n");
  }
  const EvalData own(folder.path());
  for (const TaskInfo& task : longbench_tasks()) {
    if (task.name == "longbench/dureader" || task.name == "longbench/vcsum") {
      EXPECT_TRUE(has(error_of([&] { task.make(request_of(own, 0, 1)); }), {"segmenter"}));
      continue;
    }
    const auto samples = task.make(request_of(own, 0, 5));
    ASSERT_EQ(samples.size(), 2u) << task.name;
    EXPECT_EQ(samples[0].group, "4-8k");
    EXPECT_NE(prompt_text(samples[0]).find("a dog\na cat"), std::string::npos);
    EXPECT_NO_THROW(check_scorable(samples[0])) << task.name;
  }
  EXPECT_EQ(samples_of("longbench/passage_retrieval_en", own)[0].opening, "The answer is:");
  EXPECT_EQ(samples_of("longbench/passage_retrieval_zh", own)[0].opening, "答案是：");
  EXPECT_EQ(samples_of("longbench/hotpotqa", own)[0].opening, "");
  const Sample trec = samples_of("longbench/trec", own)[0];
  EXPECT_EQ(score_reply(trec, "\nCity or Date\nmore"), 0.5);
  EXPECT_FALSE(trec.chat);
  // LongBench's own program prevents replies that begin with a line break.
  const Sample samsum = samples_of("longbench/samsum", own)[0];
  EXPECT_TRUE(samsum.stop.empty());
  EXPECT_NEAR(score_reply(samsum, "\n" + samsum.answers[0] + "\nDialogue: ..."), 1, 1e-6);
}

TEST(BabiLong, FactsStandInOrderInABook) {
  const Sample s = samples_of("babilong/qa1", packed_data(), 4096)[0];
  // bAbI's second question of the test file: index 1 of the published selection.
  EXPECT_TRUE(s.question.ends_with("Question: Where is Mary?"));
  EXPECT_EQ(s.answers[0], "bathroom");
  size_t at = 0;
  for (const auto fact : {"John travelled to the hallway.", "Mary journeyed to the bathroom.",
                          "Daniel went back to the bathroom.", "John moved to the bedroom."}) {
    const size_t next = s.context.find(fact, at);
    ASSERT_NE(next, std::string::npos) << fact;
    at = next;
  }
  EXPECT_TRUE(s.question.starts_with("</context>"));
  EXPECT_EQ(score_reply(s, "The most recent location of Mary is bathroom. Or kitchen."), 1);
  EXPECT_EQ(score_reply(s, "The most recent location of Mary is bathroom or kitchen"), 0);
}

TEST(LEval, ReadsThePublicForm) {
  const TempFolder folder;
  write_file(
      folder, "leval/quality.jsonl",
      R"({"instructions": ["Why?\n(A) x\n(B) y", "How?"], "outputs": ["(B) y", "A"], "input": "Doc."})");
  write_file(
      folder, "leval/sci_fi.jsonl",
      R"({"instructions": ["1. True or False?"], "outputs": ["True [fact: False]"], "input": "Doc."})");
  write_file(
      folder, "leval/gsm100.jsonl",
      R"({"instructions": ["Question: 9*2?"], "outputs": ["18"], "input": "Question: 1+1?"})");
  const EvalData own(folder.path());
  const auto quality = samples_of("leval/quality", own, 0, 5);
  ASSERT_EQ(quality.size(), 2u);
  EXPECT_EQ(score_reply(quality[0], "(B)"), 1);
  EXPECT_EQ(quality[1].answers[0], "A");
  EXPECT_EQ(score_reply(samples_of("leval/sci_fi", own)[0], "True"), 1);
  EXPECT_EQ(score_reply(samples_of("leval/gsm100", own)[0], "The answer is 18."), 1);
}

/// Number of documents that begin before `end`.
int64_t documents_before(std::string_view context, size_t end) {
  int64_t count = 0;
  for (size_t at = 0; (at = context.find("Document [", at)) < end; ++at) ++count;
  return count;
}

TEST(Documents, GoldStandsWhereItShould) {
  const auto samples = samples_of("multidoc/nq", packed_data(), 8192, 10);
  for (const Sample& s : samples) {
    ASSERT_TRUE(s.depth.has_value());
    const int64_t count = documents_before(s.context, s.context.size());
    ASSERT_GT(count, 20);
    const int64_t gold = 1 + std::lround(*s.depth * static_cast<double>(count - 1));
    bool holds_answer = false;  // other documents may contain the answer by chance
    for (const std::string& answer : s.answers) {
      for (size_t at = 0; (at = s.context.find(answer, at)) != std::string::npos; ++at) {
        holds_answer |= documents_before(s.context, at) == gold;
      }
    }
    EXPECT_TRUE(holds_answer) << s.question;
    EXPECT_TRUE(s.question.starts_with("Question: ") && s.question.ends_with("\nAnswer:"));
  }
  EXPECT_NE(samples[0].context.find("\nDocument [2](Title: "), std::string::npos);
}

TEST(FewShot, ReadsWhatIsAskedOnly) {
  // A line that is not JSON is refused when it is drawn, and has no effect otherwise.
  const TempFolder folder;
  std::string good, text;
  for (const char letter : {'A', 'B', 'C', 'D', 'A'}) {
    good += fmt::format(
        R"({{"subject": "s", "question": "q", "choices": [1, 2, 3, 4], "answer": "{}"}})", letter);
    good += '\n';
  }
  write_file(folder, "mmlu/dev.jsonl", good);
  for (int i = 0; i < 1000; ++i) text += "no JSON\n";
  write_file(folder, "mmlu/test.jsonl", text);
  const EvalData own(folder.path());
  EXPECT_EQ(samples_of("mmlu", own, 0, 0).size(), 0u);
  const std::string message = error_of([&] { samples_of("mmlu", own, 0, 1); });
  EXPECT_TRUE(has(message, {"mmlu/test.jsonl line ", "is no JSON"})) << message;
  // The file again, with one good line that the seed draws first.
  const std::string number = message.substr(message.find("line ") + 5);
  const auto drawn = static_cast<size_t>(std::stoi(number));
  text = std::string();
  for (size_t i = 1; i <= 1000; ++i) {
    text += i == drawn ? good.substr(0, good.find('\n') + 1) : "no JSON\n";
  }
  write_file(folder, "mmlu/test.jsonl", text);
  EXPECT_EQ(samples_of("mmlu", EvalData(folder.path()), 0, 1).size(), 1u);
}

TEST(FewShot, ExamplesAndQuestionsDiffer) {
  const auto letters = samples_of("mmlu", packed_data(), 0, 50);
  ASSERT_EQ(letters.size(), 50u);
  for (const Sample& s : letters) {
    EXPECT_EQ(s.context.find(s.question), std::string::npos);
    EXPECT_TRUE(s.context.starts_with("The following are multiple choice questions"));
  }
  std::set<std::string> subjects;
  for (const Sample& s : letters) subjects.insert(s.group);
  EXPECT_GT(subjects.size(), 15u) << "drawn over all subjects";
  const auto sums = samples_of("gsm8k", packed_data(), 0, 50);
  for (const Sample& s : sums) EXPECT_EQ(s.context.find(s.question), std::string::npos);
}

TEST(Families, StandForTheirTasks) {
  EXPECT_EQ(eval_tasks_named("ruler").size(), 13u);
  EXPECT_EQ(eval_tasks_named("longbench").size(), 21u);
  EXPECT_EQ(eval_tasks_named("infinitebench").size(), 12u);
  EXPECT_EQ(eval_tasks_named("babilong").size(), 20u);
  EXPECT_EQ(eval_tasks_named("ruler/vt").size(), 1u);
  EXPECT_EQ(error_of([] { eval_tasks_named("rule"); }),
            "task 'rule' is not known; did you mean 'ruler'?");
}

TEST(Families, LeaveOutWhatHasNoData) {
  const auto planned = plan_tasks(std::vector<std::string>{"longbench", "gsm8k"});
  ASSERT_EQ(planned.size(), 3u);
  EXPECT_EQ(planned[0].name, "longbench/multifieldqa_zh");
  EXPECT_EQ(planned[1].name, "longbench/passage_retrieval_zh");
  EXPECT_TRUE(has(error_of([] { plan_tasks(std::vector<std::string>{"leval"}); }), {"--data"}));
}

}  // namespace
}  // namespace longhaul
