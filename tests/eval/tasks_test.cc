// Tasks of any length: reproducible samples, prompts that fill the length, and answers at their
// stated depths.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "eval/haystack.h"
#include "eval/nano.h"
#include "eval/sample_queue.h"
#include "eval/score_text.h"
#include "eval/scorers.h"
#include "eval/tasks/families.h"
#include "eval/tasks/noise.h"

namespace longhaul {
namespace {

using testing_support::request_of;

std::vector<TaskInfo> own_tasks() {
  std::vector<TaskInfo> tasks;
  for (const auto family : {passkey_tasks(), needle_tasks(), magic_tasks(), fact_tasks(),
                            key_value_tasks(), tracing_tasks(), repeat_tasks(), book_tasks(),
                            graph_walk_tasks(), later_question_tasks(), repeated_request_tasks()}) {
    tasks.insert(tasks.end(), family.begin(), family.end());
  }
  return tasks;
}

std::string all_of(const Sample& s) {
  std::string text = s.id + "\n" + s.system + "\n" + s.context + s.separator + s.question + "\n" +
                     s.opening + "\n";
  for (const std::string& answer : s.answers) text += answer + "\n";
  return text + std::to_string(s.depth.value_or(-1));
}

class EveryTask : public testing::TestWithParam<TaskInfo> {};

TEST_P(EveryTask, SampleIsTheSameHoweverManyThereAre) {
  const auto few = GetParam().make(request_of(700, 2));
  const auto many = GetParam().make(request_of(700, 4));
  ASSERT_EQ(few.size(), 2u);
  ASSERT_EQ(many.size(), 4u);
  for (size_t i = 0; i < few.size(); ++i) EXPECT_EQ(all_of(few[i]), all_of(many[i]));
}

TEST_P(EveryTask, SamplesAndSeedsDiffer) {
  std::set<std::string> texts;
  for (const uint64_t seed : {1, 2}) {
    for (const Sample& sample : GetParam().make(request_of(700, 3, seed))) {
      texts.insert(all_of(sample));
    }
  }
  EXPECT_EQ(texts.size(), 6u);
}

TEST_P(EveryTask, PromptAndReplyFillTheLength) {
  for (const int64_t length : {600, 2048}) {
    const TaskRequest request = request_of(length, 3);
    for (const Sample& sample : GetParam().make(request)) {
      const int64_t used = request.prompt_tokens(sample) + sample.max_tokens;
      EXPECT_LE(used, length) << GetParam().name;
      EXPECT_GT(used, length - 110) << GetParam().name;  // a pair of UUIDs has 100 tokens
    }
  }
}

TEST_P(EveryTask, AnswersAreInTheContextAndScored) {
  for (const Sample& sample : GetParam().make(request_of(1500, 3))) {
    if (sample.perplexity) {
      EXPECT_TRUE(sample.question.empty());
      continue;
    }
    for (const std::string& answer : sample.answers) {
      EXPECT_NE(sample.context.find(answer), std::string::npos) << answer;
      EXPECT_EQ(sample.question.find(answer), std::string::npos) << answer;
      EXPECT_EQ(sample.opening.find(answer), std::string::npos) << answer;
    }
    // Such rules ignore the first words.
    std::string right = sample.rule.starts_with("after-7+") ? "" : "It is";
    for (const std::string& answer : sample.answers) right += " " + answer;
    EXPECT_DOUBLE_EQ(score_reply(sample, right), 1) << right;
    EXPECT_LT(score_reply(sample, "I do not know"), 0.25);
  }
}

TEST_P(EveryTask, AnswerLiesAtItsDepth) {
  for (const Sample& sample : GetParam().make(request_of(8192, 10))) {
    if (!sample.depth) continue;
    // A sentence, or the description before the noise, has some hundred characters. Depths are a
    // ninth of the text apart.
    const double at = static_cast<double>(sample.context.find(sample.answers.front())) /
                      static_cast<double>(sample.context.size());
    EXPECT_NEAR(at, *sample.depth, 0.05) << GetParam().name;
  }
}

TEST_P(EveryTask, TooShortALengthIsRefused) {
  EXPECT_THROW(GetParam().make(request_of(GetParam().name == "book" ? 8 : 64, 1)), UserError);
}

INSTANTIATE_TEST_SUITE_P(All, EveryTask, testing::ValuesIn(own_tasks()), [](const auto& task) {
  std::string name(task.param.name);
  for (char& c : name) c = c == '-' || c == '/' ? '_' : c;
  return name;
});

TEST(Depths, TenPointsEachOnceInTen) {
  std::set<double> points;
  for (int i = 7; i < 17; ++i) points.insert(grid_depth(i));
  EXPECT_EQ(points.size(), 10u);
  EXPECT_DOUBLE_EQ(*points.begin(), 0);
  EXPECT_DOUBLE_EQ(*points.rbegin(), 1);
}

TEST(Hide, PutsTextsAtSentenceBorders) {
  const std::string_view text = "One is here. Two is \"there.\" Three! Four";
  EXPECT_EQ(hide(text, {{"NEEDLE.", 0}}), "NEEDLE. One is here. Two is \"there.\" Three! Four");
  EXPECT_EQ(hide(text, {{"NEEDLE.", 0.5}}), "One is here. NEEDLE. Two is \"there.\" Three! Four");
  EXPECT_EQ(hide(text, {{"NEEDLE.", 0.8}}), "One is here. Two is \"there.\" NEEDLE. Three! Four");
  EXPECT_EQ(hide(text, {{"NEEDLE.", 1}}), "One is here. Two is \"there.\" Three! Four NEEDLE.");
}

TEST(Hide, KeepsEveryTextInTheOrderOfDepths) {
  const std::string_view text = "No border in this haystack";
  EXPECT_EQ(hide(text, {{"B", 0.6}, {"A", 0.2}}), "A B No border in this haystack");
}

TEST(SentenceStart, FindsTheBorderBefore) {
  const std::string_view text = "A b.  C d? \"E f.\"\n\nG";
  EXPECT_EQ(sentence_start(text, 0), 0u);
  EXPECT_EQ(sentence_start(text, 5), 0u);  // between two spaces
  EXPECT_EQ(sentence_start(text, 6), 6u);
  EXPECT_EQ(sentence_start(text, 12), 11u);
  EXPECT_EQ(sentence_start(text, 1000), 19u);
}

TEST(Noise, HidesALineAfterAShareOfTheOthers) {
  const std::string noise(kNoiseLine);
  EXPECT_EQ(noise_with("KEY", 2, 0, "|"), "KEY|" + noise + "|" + noise);
  EXPECT_EQ(noise_with("KEY", 2, 0.5, "|"), noise + "|KEY|" + noise);
  EXPECT_EQ(noise_with("KEY", 2, 1, "|"), noise + "|" + noise + "|KEY");
}

TEST(Passkey, HasThePublishedForms) {
  const std::string noise(kNoiseLine);
  for (const auto& [task, after, between, before_question] :
       {std::tuple("passkey", "\n", " ", "\n"),
        std::tuple("infinitebench/passkey", "\n\n", "\n", "\n\n\n")}) {
    const Sample s = eval_task(task).make(request_of(700, 2)).at(1);  // at a ninth of the text
    const std::string line = passkey_line(s.answers.at(0));
    EXPECT_EQ(line, "The pass key is " + s.answers[0] + ". Remember it. " + s.answers[0] +
                        " is the pass key.");
    EXPECT_TRUE(s.context.starts_with("There is an important info hidden inside"));
    EXPECT_NE(s.context.find(" quiz you about the important information there." +
                             std::string(after) + noise + between),
              std::string::npos);
    std::string placed = std::string(noise) + between;
    placed += line;
    placed += between;
    placed += noise;
    EXPECT_NE(s.context.find(placed), std::string::npos);
    const std::string all = s.context + s.separator + s.question;
    EXPECT_TRUE(all.ends_with(noise + before_question + "What is the pass key?"));
  }
}

TEST(Repeat, NamesAPassageOfTheBookByItsFirstWords) {
  for (const Sample& s : eval_task("repeat").make(request_of(1500, 10))) {
    ASSERT_EQ(s.answers.size(), 1u);
    EXPECT_EQ(split_words(s.opening).size(), 10u);
    EXPECT_EQ(split_words(s.answers[0]).size(), 24u);
    const size_t at = s.context.find(s.opening + " " + s.answers[0]);
    ASSERT_NE(at, std::string::npos) << s.opening;
    EXPECT_EQ(sentence_start(s.context, at), at) << s.opening;
    const size_t line = s.question.find('\n') + 1;
    EXPECT_EQ(s.question.substr(0, line), "Repeat the passage that begins with these words:\n");
    EXPECT_TRUE(s.opening.starts_with(s.question.substr(line) + " "));
    EXPECT_EQ(score_reply(s, s.opening + " " + s.answers[0] + " And then"), 1);
  }
}

TEST(BookStretch, GoesOnInTheNextBook) {
  Random random(5);
  const BookStretch stretch(testing_support::test_data(), random);
  const std::string text = stretch.text(6'000'000);  // more than all books together
  EXPECT_GT(text.size(), 5'999'000u);
  EXPECT_EQ(text.substr(0, 500), stretch.text(1000).substr(0, 500));
}

TEST(Registry, NamesAreUniqueAndExplained) {
  std::set<std::string_view> names;
  for (const TaskInfo& task : eval_tasks()) {
    EXPECT_TRUE(names.insert(task.name).second) << task.name;
    EXPECT_FALSE(task.summary.empty() || task.rule.empty() || task.source.empty()) << task.name;
    EXPECT_EQ(&eval_task(task.name), &task);
  }
}

TEST(Registry, EveryRetrievalTaskIsAskedBothWays) {
  constexpr std::string_view kRetrieval[] = {"passkey",
                                             "needle",
                                             "magic",
                                             "multikey",
                                             "fact",
                                             "key-value",
                                             "variables",
                                             "repeat",
                                             "ruler/",
                                             "infinitebench/passkey",
                                             "infinitebench/number_string",
                                             "infinitebench/kv_retrieval",
                                             "infinitebench/code_run",
                                             "multidoc/",
                                             "multihop/",
                                             "babilong/",
                                             "longbench/passage_retrieval_zh"};
  int tasks = 0;
  for (const TaskInfo& task : eval_tasks()) {
    const bool retrieval =
        std::any_of(std::begin(kRetrieval), std::end(kRetrieval),
                    [&](std::string_view beginning) { return task.name.starts_with(beginning); });
    if (!retrieval || task.name == "needle-citrus") continue;  // has no opening
    ++tasks;
    for (const Sample& sample : task.make(request_of(8192, 1))) {
      EXPECT_EQ(openings_of(sample, Openings::kBoth, testing_support::nano_composer()),
                (std::vector<bool>{false, true}))
          << task.name;
    }
  }
  EXPECT_EQ(tasks, 54);
}

TEST(Registry, UnknownNameGetsTheNearest) {
  try {
    eval_task("pasckey");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "task 'pasckey' is not known; did you mean 'passkey'?");
  }
}

}  // namespace
}  // namespace longhaul
