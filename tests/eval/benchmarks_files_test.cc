// The user's own data files in place of a task's, and invalid files.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "eval/benchmarks_run.h"
#include "eval/runner.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::packed_data;
using testing_support::samples_of;
using testing_support::TempFolder;
using testing_support::write_file;

/// "Essay 0 goes on. Essay 1 goes on. ...": a text that is in no book.
std::string essay(int sentences) {
  std::string text;
  for (int i = 0; i < sentences; ++i) text += fmt::format("{}Essay {} goes on.", i ? " " : "", i);
  return text;
}

int count_of(const std::string& text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Essays, AreTheHaystackWhereTheUserHasThem) {
  const TempFolder folder;
  write_file(folder, "essays/PaulGrahamEssays.json",
             fmt::format(R"({{"text": "{}"}})", essay(200)));
  const EvalData own(folder.path());
  for (const auto task :
       {"needle", "ruler/niah_single_2", "ruler/niah_single_3", "ruler/niah_multikey_1",
        "ruler/niah_multivalue", "ruler/niah_multiquery"}) {
    EXPECT_NE(eval_task(task).source.find("Graham's essays where --data has them"),
              std::string_view::npos)
        << task;
    const std::vector<Sample> samples = samples_of(task, own, 4096, 3);
    for (const Sample& s : samples) {
      // A sentence has 16 to 18 bytes plus a blank, and a token has four bytes. Needles fill the
      // rest.
      EXPECT_GT(count_of(s.context, "goes on."), 600) << task;
      // The last sentence may be incomplete.
      EXPECT_NEAR(count_of(s.context, "Essay "), count_of(s.context, " goes on."), 1) << task;
    }
    EXPECT_NE(samples[0].context, samples[1].context) << task;
  }
}

TEST(Essays, ChangeNoOtherTask) {
  const TempFolder with, without;
  write_file(with, "essays/PaulGrahamEssays.json", R"({"text": "One essay. Another."})");
  const EvalData essays(with.path()), none(without.path());
  for (const auto task : {"needle-duo", "needle-bench", "fact", "magic", "repeat", "babilong/qa1",
                          "ruler/niah_single_1", "ruler/niah_multikey_2"}) {
    EXPECT_EQ(samples_of(task, essays, 2048, 1)[0].context,
              samples_of(task, none, 2048, 1)[0].context)
        << task;
  }
  for (const auto task : {"needle", "ruler/niah_single_2"}) {
    EXPECT_EQ(samples_of(task, none, 2048, 1)[0].context,
              samples_of(task, packed_data(), 2048, 1)[0].context)
        << task;
    EXPECT_EQ(samples_of(task, none, 2048, 1)[0].context.find("One essay."), std::string::npos);
  }
}

TEST(Essays, MarkTheTasksThatReadThem) {
  for (const TaskInfo& task : eval_tasks()) {
    EXPECT_EQ(task.essays, task.source.find("essays") != std::string_view::npos) << task.name;
  }
  const TempFolder one, other, none;
  const std::string file = "essays/PaulGrahamEssays.json";
  write_file(one, file, R"({"text": "One essay. Another."})");
  write_file(other, file, R"({"text": "One essay. Another"})");
  const std::vector<std::string> names{"needle", "ruler/niah_single_2", "needle-duo"};
  const auto contents = [&](const TempFolder& folder) {
    std::vector<std::string> all;
    for (const PlannedTask& task : plan_tasks(names, folder.path())) all.push_back(task.contents);
    return all;
  };
  EXPECT_EQ(contents(none), (std::vector<std::string>{"", "", ""}));
  const std::vector<std::string> read = contents(one);
  EXPECT_EQ(read[0].size(), 16u);
  EXPECT_EQ(read, (std::vector<std::string>{read[0], read[0], ""}));
  EXPECT_NE(contents(other)[0], read[0]);
}

TEST(Essays, OfAnotherFormAreRefused) {
  for (const auto text : {"[]", "{}", R"({"text": {}})", R"({"text": " \n"})", "not JSON"}) {
    const TempFolder folder;
    write_file(folder, "essays/PaulGrahamEssays.json", text);
    const EvalData own(folder.path());
    for (const auto task : {"needle", "ruler/niah_single_2"}) {
      EXPECT_TRUE(
          has(error_of([&] { samples_of(task, own, 2048); }), {"essays/PaulGrahamEssays.json"}))
          << text;
    }
  }
}

TEST(Benchmarks, MissingFilesAreNamed) {
  const std::string message = error_of([] { samples_of("longbench/hotpotqa", packed_data()); });
  EXPECT_TRUE(has(message, {"longbench/hotpotqa.jsonl", "--data"})) << message;
}

TEST(Benchmarks, WrongFilesAreRefusedByNameAndLine) {
  const std::pair<std::string, std::string> bad[] = {
      {"", "no entries"},
      {"{\"input\": 1", "line 1: is no JSON"},
      {"[1]", "line 1: is no JSON object"},
      {"{}", "line 1: key"},
      {"\n{\"context\": \"c\", \"length\": 1, \"input\": [1], \"answers\": []}",
       "line 2: key \"input\""},
      {"{\"context\": {}, \"length\": 1, \"input\": \"i\", \"answers\": [\"a\"]}",
       "\"context\" is no text"},
      {"{\"context\": \"c\", \"length\": \"x\", \"input\": \"i\", \"answers\": [\"a\"]}",
       "\"length\""},
      {std::string(100000, '['), "nested deeper"},
      {"\x1f\x8b\x08garbage", "damaged"},
  };
  for (const auto& [text, part] : bad) {
    const TempFolder folder;
    write_file(folder, "longbench/hotpotqa.jsonl", text);
    const EvalData own(folder.path());
    const std::string message = error_of([&] { samples_of("longbench/hotpotqa", own); });
    EXPECT_TRUE(has(message, {part, "longbench/hotpotqa.jsonl"})) << message;
  }
}

TEST(Benchmarks, WrongPackedFilesAreRefused) {
  struct Wrong {
    std::string_view task;
    std::string file, text;
  };
  const Wrong all[] = {
      {"ruler/niah_single_2", "words/nouns.txt", "\n\n"},
      {"ruler/niah_single_1", "prompts/ruler.json", "{\"base_tasks\": []}"},
      {"ruler/qa_1", "qa/xquad.en.json", "{\"data\": []}"},
      {"ruler/qa_2", "qa/hotpotqa.json", "[{\"context\": [[1]]}]"},
      {"multihop/hotpotqa", "qa/hotpotqa_paragraphs.json", "[[]]"},
      {"multidoc/nq", "qa/nq_open.jsonl", "{\"title\": \"t\"}"},
      {"babilong/qa1", "babi/qa1.txt", "no number"},
      {"babilong/qa1", "babi/test_100_idxs.json", "{\"qa1\": [999999]}"},
      {"babilong/qa1", "prompts/babilong.json", "[]"},
      {"mmlu", "mmlu/test.jsonl", "{\"subject\": 1}"},
      {"gsm8k", "gsm8k/test.jsonl", "{\"question\": \"q\", \"answer\": \"a\"}"},
      {"infinitebench/passkey", "prompts/infinitebench.json", "{\"templates\": {}}"},
      {"longbench/multifieldqa_zh", "prompts/longbench_rules.json", "{\"dataset2metric\": 1}"},
  };
  for (const Wrong& wrong : all) {
    const TempFolder folder;
    write_file(folder, wrong.file, wrong.text);
    const EvalData own(folder.path());
    const std::string message = error_of([&] { samples_of(wrong.task, own, 2048); });
    EXPECT_TRUE(has(message, {wrong.file})) << message;
  }
}

}  // namespace
}  // namespace longhaul
