// RULER's thirteen tasks: their form compared with published samples, and their rules verified by
// counting.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "eval/question_sets.h"
#include "eval/score_text.h"
#include "eval/task_run.h"
#include "eval/tasks/benchmark_families.h"
#include "text/regex.h"

namespace longhaul {
namespace {

using testing_support::all_answers;
using testing_support::check_task;
using testing_support::prompt_text;
using testing_support::request_of;

const EvalData& data() {
  static const EvalData shared;
  return shared;
}

std::vector<TaskInfo> ruler_tasks() {
  std::vector<TaskInfo> tasks;
  for (const auto family :
       {ruler_niah_tasks(), ruler_vt_tasks(), ruler_words_tasks(), ruler_qa_tasks()}) {
    tasks.insert(tasks.end(), family.begin(), family.end());
  }
  return tasks;
}

Sample ruler_sample(std::string_view name, int64_t length = 4096) {
  for (const TaskInfo& task : ruler_tasks()) {
    if (task.name == name) return task.make(request_of(data(), length, 1)).at(0);
  }
  user_error("no task {}", name);
}

std::string golden(const std::string& name) {
  std::ifstream file(LONGHAUL_TEST_DATA "/eval/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Ruler, ThirteenTasksThatFitAndRepeat) {
  const std::vector<TaskInfo> tasks = ruler_tasks();
  EXPECT_EQ(tasks.size(), 13u);
  for (const TaskInfo& task : tasks) {
    check_task(task, data(), 4096);
    for (const Sample& s : task.make(request_of(data(), 8192, 2))) {
      EXPECT_EQ(score_reply(s, all_answers(s)), 1) << task.name;
    }
  }
}

TEST(Ruler, AnswersStandInTheText) {
  for (const TaskInfo& task : ruler_tasks()) {
    for (const Sample& s : task.make(request_of(data(), 4096, 3))) {
      const bool any = std::any_of(s.answers.begin(), s.answers.end(), [&](const auto& answer) {
        return s.context.find(answer) != std::string::npos;
      });
      const bool yes_or_no = s.answers[0] == "yes" || s.answers[0] == "no";
      EXPECT_TRUE(any || yes_or_no) << task.name << ": " << s.answers[0];
    }
  }
}

/// Lines with UUIDs replaced by U, each distinct line once, in order.
std::vector<std::string> different_lines(std::string text) {
  static const Regex kUuid("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
                           "uuid");
  while (const auto uuid = kUuid.find(text, 0))
    text.replace(uuid->begin, uuid->end - uuid->begin, "U");
  std::istringstream lines(text);
  std::vector<std::string> different;
  for (std::string line; std::getline(lines, line);) {
    if (std::find(different.begin(), different.end(), line) == different.end()) {
      different.push_back(line);
    }
  }
  return different;
}

TEST(Ruler, MultikeyThreeHasTheFormOfRulersOwnSample) {
  const Sample sample = ruler_sample("ruler/niah_multikey_3");
  const auto expected = different_lines(golden("ruler_niah_multikey_3.txt"));
  ASSERT_EQ(expected.size(), 3u);
  EXPECT_EQ(different_lines(prompt_text(sample)), expected);
  EXPECT_EQ(occurrences(sample.context, sample.answers[0]), 1);
}

TEST(Ruler, QuestionsHaveTheFormOfRulersOwnPrompt) {
  const auto form = [&](std::string text) {
    const size_t begin = text.find("Document 1:\n");
    const size_t end = text.rfind("\n\nAnswer the question");
    const std::string parts = text.substr(begin, end - begin);
    EXPECT_NE(parts.find("\n\nDocument 2:\n"), std::string::npos);
    const size_t question = text.find("Question: ");
    return text.substr(0, begin) + "..." + text.substr(end, question - end) + "..." +
           text.substr(text.size() - 8);
  };
  for (const auto task : {"ruler/qa_1", "ruler/qa_2"}) {
    EXPECT_EQ(form(prompt_text(ruler_sample(task))), form(golden("ruler_qa_2.txt")));
  }
}

TEST(Ruler, OneNeedleIsAskedForInTheSingular) {
  const Sample one = ruler_sample("ruler/niah_single_2");
  EXPECT_TRUE(one.context.starts_with(
      "A special magic number is hidden within the following text. Make sure to memorize it. I "
      "will quiz you about the number afterwards.\n"));
  EXPECT_TRUE(one.question.starts_with("What is the special magic number for "));
  EXPECT_TRUE(one.opening.ends_with(" mentioned in the provided text is"));
  EXPECT_EQ(occurrences(one.context, "One of the special magic numbers for "), 1);
  ASSERT_TRUE(one.depth.has_value());
  const double at = static_cast<double>(one.context.find(one.answers[0]));
  EXPECT_NEAR(at / static_cast<double>(one.context.size()), *one.depth, 0.06);
}

TEST(Ruler, SeveralNeedlesAreAskedForInThePlural) {
  const Sample values = ruler_sample("ruler/niah_multivalue");
  EXPECT_TRUE(values.context.starts_with("Some special magic numbers are hidden within"));
  EXPECT_TRUE(values.question.starts_with("What are all the special magic numbers for "));
  EXPECT_EQ(values.answers.size(), 4u);
  const Sample queries = ruler_sample("ruler/niah_multiquery");
  EXPECT_EQ(queries.answers.size(), 4u);
  EXPECT_EQ(occurrences(queries.question, ", "), 3);
  EXPECT_EQ(occurrences(queries.question, ", and "), 1);
  EXPECT_EQ(occurrences(ruler_sample("ruler/niah_multikey_1").context, "One of the special magic"),
            4);
}

TEST(Ruler, NoiseStandsInLines) {
  const Sample sample = ruler_sample("ruler/niah_single_1");
  EXPECT_NE(sample.context.find("There and back again.\nThe grass is green."), std::string::npos);
}

TEST(Ruler, ChainsAreAssignedInOrder) {
  const Sample sample = ruler_sample("ruler/vt");
  ASSERT_EQ(sample.answers.size(), 5u);
  size_t at = sample.context.find("VAR " + sample.answers[0] + " = ");
  for (size_t i = 1; i < sample.answers.size(); ++i) {
    const size_t next =
        sample.context.find("VAR " + sample.answers[i] + " = VAR " + sample.answers[i - 1] + " \n");
    ASSERT_NE(next, std::string::npos);
    EXPECT_GT(next, at);
    at = next;
  }
  EXPECT_EQ(occurrences(sample.context, "Memorize and track the chain(s)"), 2)
      << "an example first";
}

TEST(Ruler, CommonWordsAreCommon) {
  const Sample sample = ruler_sample("ruler/cwe", 8192);
  const std::string body = sample.context.substr(sample.context.rfind("\n1. ") + 1);
  std::map<std::string, int> times;
  for (const std::string& word : split_words(body)) ++times[word];
  ASSERT_EQ(sample.answers.size(), 10u);
  for (const std::string& word : sample.answers) EXPECT_EQ(times[word], 30) << word;
  const auto others = std::count_if(times.begin(), times.end(),
                                    [](const auto& entry) { return entry.second == 3; });
  EXPECT_GT(others, 100);
}

TEST(Ruler, CommonWordsOfAShortListAreFewer) {
  const Sample sample = ruler_sample("ruler/cwe", 2048);
  const std::string body = sample.context.substr(sample.context.rfind("\n1. ") + 1);
  std::map<std::string, int> times;
  for (const std::string& word : split_words(body)) ++times[word];
  for (const std::string& word : sample.answers) EXPECT_EQ(times[word], 6) << word;
  EXPECT_GT(std::ranges::count_if(times, [](const auto& entry) { return entry.second == 1; }), 50);
}

TEST(Ruler, FrequentWordsFollowZeta) {
  const Sample sample = ruler_sample("ruler/fwe", 8192);
  std::map<std::string, int> times;
  for (const std::string& word : split_words(sample.context)) ++times[word];
  ASSERT_EQ(sample.answers.size(), 3u);
  EXPECT_NEAR(times["..."], 4 * times[sample.answers[0]], 4);
  EXPECT_NEAR(times["..."], 9 * times[sample.answers[1]], 9);
  EXPECT_NEAR(times["..."], 16 * times[sample.answers[2]], 16);
}

TEST(Ruler, ALengthThatHoldsNothingIsRefused) {
  for (const TaskInfo& task : ruler_tasks()) {
    EXPECT_THROW(task.make(request_of(data(), 64, 1)), UserError) << task.name;
  }
}

TEST(QuestionSets, HoldWhatTheyShould) {
  const QuestionSet squad = xquad(data());
  EXPECT_EQ(squad.questions.size(), 1190u);
  EXPECT_EQ(squad.documents.size(), 240u);
  for (const Question& q : squad.questions) {
    EXPECT_NE(squad.documents[q.gold[0]].text.find(q.answers[0]), std::string::npos);
  }
  const QuestionSet hotpot = hotpotqa(data());
  EXPECT_EQ(hotpot.questions.size(), 100u);
  EXPECT_GT(hotpot.documents.size(), 1900u);
  for (const Question& q : hotpot.questions) EXPECT_EQ(q.gold.size(), 2u) << q.text;
  EXPECT_EQ(natural_questions(data()).questions.size(), 2655u);
}

}  // namespace
}  // namespace longhaul
