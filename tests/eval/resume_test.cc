// A further run in a folder: which records are reused, which are refused, and when.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "eval/nano.h"
#include "eval/nano_run.h"
#include "eval/record_writer.h"
#include "eval/runner.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;
using testing_support::error_of;
using testing_support::has;
using testing_support::nano;
using testing_support::read;
using testing_support::TempFolder;

EvalSettings dense_settings() {
  EvalSettings s;
  s.methods = {MethodSpec::parse("dense")};
  s.lengths = {300};
  s.samples = 1;
  s.model = "nano";
  s.version = "test";
  return s;
}

/// One sample with its own length, with and without its opening.
PlannedTask own_task(const std::string& key) {
  PlannedTask task;
  task.name = "own";
  task.rule = "as the sample says";
  task.scales = false;
  task.make = [key](const TaskRequest&) {
    Sample sample;
    sample.id = "0";
    sample.context = "The pass key is " + key + ". Remember it. " + key + " is the pass key.";
    sample.question = "What is the pass key?";
    sample.opening = "The pass key is";
    sample.answers = {key};
    sample.max_tokens = 8;
    return std::vector<Sample>{sample};
  };
  return task;
}

/// One sample for every length.
PlannedTask any_task(const std::string& key) {
  PlannedTask task = own_task(key);
  task.name = "any";
  task.scales = true;
  return task;
}

EvalOutcome run(const EvalSettings& settings, const PlannedTask& task,
                const std::filesystem::path& folder, const EvalHooks& hooks = {}) {
  return run_eval(nano(), settings, {&task, 1}, folder, hooks);
}

/// Changes each line of samples.jsonl.
template <class Change>
void change_records(const TempFolder& folder, Change&& change) {
  std::istringstream lines(read(folder.path() / "samples.jsonl"));
  std::string changed;
  for (std::string line; std::getline(lines, line);) {
    ordered_json record = ordered_json::parse(line);
    change(record);
    changed += record.dump() + "\n";
  }
  folder.write("samples.jsonl", changed);
}

TEST(Resume, AnswersToOtherPromptsAreRefusedAndNothingChanges) {
  const TempFolder folder;
  const EvalOutcome first = run(dense_settings(), own_task("58213"), folder.path());
  ASSERT_EQ(first.records.size(), 2u);
  Record failed = first.records.front();
  failed.method = "h2o";
  failed.error = "out of memory";
  std::ofstream(folder.path() / "samples.jsonl", std::ios::binary | std::ios::app)
      << to_json(failed) << "\n{\"task\":\"own";
  const std::string info = read(folder.path() / "run.json"),
                    records = read(folder.path() / "samples.jsonl");
  EvalSettings other_method = dense_settings();
  other_method.methods = {MethodSpec::parse("streamingllm:recent=64")};
  for (const EvalSettings& settings : {dense_settings(), other_method}) {
    const std::string error = error_of([&] { run(settings, own_task("58214"), folder.path()); });
    EXPECT_TRUE(has(error, {folder.path().string(), "another prompt of own, sample 0", "--out"}));
    EXPECT_EQ(read(folder.path() / "run.json"), info);
    EXPECT_EQ(read(folder.path() / "samples.jsonl"), records);
  }
  EvalSettings longer = dense_settings();  // this task ignores the lengths
  longer.lengths = {300, 600};
  const EvalOutcome again = run(longer, own_task("58213"), folder.path());
  EXPECT_EQ(again.found, 2u);
  EXPECT_EQ(again.records.size(), 2u);
  EXPECT_EQ(read(folder.path() / "samples.jsonl"),
            to_json(first.records[0]) + "\n" + to_json(first.records[1]) + "\n");
}

TEST(Resume, OtherPromptsOfALongerLengthAreRefusedBeforeTheShorterIsAsked) {
  const TempFolder folder;
  EvalSettings settings = dense_settings();
  settings.lengths = {400};
  EXPECT_EQ(run(settings, any_task("58213"), folder.path()).records.size(), 2u);
  settings.lengths = {300, 400};
  for (const bool named : {true, false}) {
    if (!named) change_records(folder, [](ordered_json& r) { r.erase("sample_hash"); });
    const std::string records = read(folder.path() / "samples.jsonl");
    EXPECT_TRUE(has(error_of([&] { run(settings, any_task("58214"), folder.path()); }),
                    {"another prompt of any, sample 0"}));
    EXPECT_EQ(read(folder.path() / "samples.jsonl"), records);
  }
  EXPECT_EQ(run(settings, any_task("58213"), folder.path()).records.size(), 4u);
}

TEST(Resume, AnotherRuleOfScoringIsRefused) {
  const TempFolder folder;
  EvalSettings settings = dense_settings();
  PlannedTask task = any_task("58213");
  run(settings, task, folder.path());
  task.rule = "as strictly as can be";
  settings.lengths = {400};
  EXPECT_TRUE(has(error_of([&] { run(settings, task, folder.path()); }),
                  {"\"any\" with another rule", "as the sample says", "--out"}));
}

TEST(Resume, AFolderThatAnotherRunHoldsIsNotBegun) {
  const TempFolder folder;
  {
    const RecordWriter other(folder.path());
    EXPECT_TRUE(has(error_of([&] { run(dense_settings(), own_task("58213"), folder.path()); }),
                    {"another run"}));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "run.json"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "the other one did not begin";
  EXPECT_EQ(run(dense_settings(), own_task("58213"), folder.path()).records.size(), 2u);
}

TEST(Resume, RecordsThatDoNotNameTheirSampleAreComparedByTheirTokens) {
  const TempFolder folder;
  run(dense_settings(), own_task("58213"), folder.path());
  change_records(folder, [](ordered_json& record) { EXPECT_EQ(record.erase("sample_hash"), 1u); });
  const std::string records = read(folder.path() / "samples.jsonl");
  EXPECT_TRUE(has(error_of([&] { run(dense_settings(), own_task("58214"), folder.path()); }),
                  {"another prompt of own, sample 0"}));
  EXPECT_EQ(read(folder.path() / "samples.jsonl"), records);
  EvalSettings more = dense_settings();
  more.methods.push_back(MethodSpec::parse("streamingllm:recent=64"));
  const EvalOutcome outcome = run(more, own_task("58213"), folder.path());
  EXPECT_EQ(outcome.found, 2u);
  EXPECT_EQ(outcome.records.size(), 4u);
}

TEST(Resume, WhatIsAnsweredIsNotTokenizedAgain) {
  const TempFolder folder;
  run(dense_settings(), own_task("58213"), folder.path());
  // No prompt has this hash. Only tokenizing reveals that.
  change_records(folder, [](ordered_json& record) { record["prompt_hash"] = "none"; });
  const EvalOutcome outcome = run(dense_settings(), own_task("58213"), folder.path());
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.found, 2u);
  EXPECT_EQ(outcome.records.size(), 2u);
  EvalSettings more = dense_settings();
  more.methods.push_back(MethodSpec::parse("streamingllm:recent=64"));
  EXPECT_TRUE(has(error_of([&] { run(more, own_task("58213"), folder.path()); }),
                  {"another prompt of own, sample 0"}));
}

TEST(Resume, AnotherCapOfTextsThatAreCutIsRefused) {
  PlannedTask task = own_task("58213");
  task.make = [make = task.make](const TaskRequest& request) {
    std::vector<Sample> samples = make(request);
    for (int64_t tokens = 0; tokens + 100 < request.length; tokens += 20) {
      samples.front().context += " The grass is green and the sky is blue.";
    }
    return samples;
  };
  const TempFolder folder;
  EvalSettings settings = dense_settings();
  run(settings, task, folder.path());
  EXPECT_EQ(run(settings, task, folder.path()).found, 2u);
  settings.lengths = {600};
  EXPECT_TRUE(has(error_of([&] { run(settings, task, folder.path()); }),
                  {"another prompt of own, sample 0", "--out"}));
}

TEST(Resume, RunningScoreIsOfTheTasksThatAreAsked) {
  const TempFolder folder;
  run(dense_settings(), own_task("58213"), folder.path());
  PlannedTask other = own_task("4711");
  other.name = "other";
  std::vector<int64_t> scored;
  EvalHooks hooks;
  hooks.progress = [&](const EvalProgress& progress) {
    ASSERT_EQ(progress.methods.size(), 1u);
    scored.push_back(progress.methods.front().scored);
  };
  run(dense_settings(), other, folder.path(), hooks);
  EXPECT_EQ(scored, (std::vector<int64_t>{1, 2}));
  scored.clear();
  run(dense_settings(), other, folder.path(), hooks);
  EXPECT_EQ(scored, (std::vector<int64_t>{2, 2})) << "what was there counts from the beginning";
}

TEST(Resume, RunningScoreIsOfTheWayThatIsAsked) {
  for (const PlannedTask& task : {own_task("58213"), any_task("58213")}) {
    const TempFolder folder;
    EvalSettings settings = dense_settings();
    run(settings, task, folder.path());
    settings.openings = Openings::kOn;
    std::vector<int64_t> scored;
    EvalHooks hooks;
    hooks.progress = [&](const EvalProgress& progress) {
      scored.push_back(progress.methods.front().scored);
    };
    EXPECT_EQ(run(settings, task, folder.path(), hooks).records.size(), 2u);
    EXPECT_EQ(scored, (std::vector<int64_t>{1}));
  }
}

TEST(Resume, AMethodThatCannotBeIsRefusedBeforeTheRun) {
  const TempFolder folder;
  EvalSettings settings = dense_settings();
  settings.methods.push_back(MethodSpec::parse("snapkv:capacity=10,window=16"));
  const std::filesystem::path out = folder.path() / "out";
  EXPECT_TRUE(has(error_of([&] { run(settings, own_task("58213"), out); }),
                  {"--attention snapkv", "capacity=10", "window=16"}));
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace longhaul
