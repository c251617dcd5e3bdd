// Runs on the embedded model: output, resuming, refusals and comparisons.

#include "eval/runner.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "eval/nano_run.h"
#include "eval/record_file.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::read;
using testing_support::run;
using testing_support::small_settings;
using testing_support::TempFolder;
using testing_support::told;

TEST(Runner, AsksEveryMethodTheSamePrompts) {
  TempFolder folder;
  const EvalOutcome outcome = run(small_settings(), folder.path());
  EXPECT_TRUE(outcome.finished);
  // Two tasks, two lengths, two samples, with and without opening, two methods.
  ASSERT_EQ(outcome.records.size(), 32u);
  EXPECT_EQ(outcome.records.front().length, 300);
  EXPECT_EQ(outcome.records.back().length, 400);
  for (size_t i = 0; i < outcome.records.size(); i += i % 4 == 1 ? 3 : 1) {
    // Records of a sample that share a reading come first, with and without opening.
    const Record &dense = outcome.records[i], &window = outcome.records[i + 2];
    EXPECT_EQ(dense.opening, i % 2 == 1);
    EXPECT_EQ(dense.opening, window.opening);
    EXPECT_EQ(dense.method, "dense");
    EXPECT_EQ(window.method, "streamingllm:recent=64");
    EXPECT_EQ(dense.prompt_hash, window.prompt_hash);
    EXPECT_EQ(dense.id, window.id);
    EXPECT_EQ(dense.score, 1) << dense.task << ": " << dense.reply;
    EXPECT_LT(window.pairs_share, 1);
    EXPECT_LE(dense.prompt_tokens, dense.length - 32);
    EXPECT_GT(dense.first_token_seconds, 0);
    EXPECT_GT(dense.kv_bytes, 0);
  }
}

TEST(Runner, AsksEveryMethodOfTheRegistry) {
  TempFolder folder;
  EvalSettings settings = small_settings();
  settings.methods.clear();
  for (const MethodInfo& info : attention_methods()) {
    const std::string_view options = info.small.front().options;
    settings.methods.push_back(
        MethodSpec::parse(fmt::format("{}{}{}", info.name, options.empty() ? "" : ":", options)));
  }
  settings.lengths = {300};
  settings.samples = 1;
  settings.openings = Openings::kOn;
  const EvalOutcome outcome = run(settings, folder.path(), {"passkey"});
  ASSERT_EQ(outcome.records.size(), settings.methods.size());
  for (const Record& record : outcome.records) {
    EXPECT_EQ(record.error, "") << record.method;
    EXPECT_FALSE(record.reply.empty()) << record.method;
    EXPECT_GT(record.kv_bytes, 0) << record.method;
    EXPECT_EQ(record.prompt_hash, outcome.records.front().prompt_hash);
  }
}

TEST(Runner, RecordsOnDiskAreThoseOfTheOutcome) {
  TempFolder folder;
  EvalSettings settings = small_settings();
  settings.lengths = {300};
  const EvalOutcome outcome = run(settings, folder.path(), {"passkey"});
  EXPECT_EQ(told(read_records(folder.path() / "samples.jsonl").records), told(outcome.records));
  const auto info = nlohmann::json::parse(read(folder.path() / "run.json"));
  EXPECT_EQ(info["tasks"][0]["name"], "passkey");
  EXPECT_EQ(info["methods"], (std::vector<std::string>{"dense", "streamingllm:recent=64"}));
}

TEST(Runner, GoesOnAfterACutAtAnyByte) {
  TempFolder whole;
  EvalSettings settings = small_settings();
  settings.lengths = {300};
  settings.samples = 1;
  const auto all = told(run(settings, whole.path(), {"passkey"}).records);
  ASSERT_EQ(all.size(), 4u);
  const std::string lines = read(whole.path() / "samples.jsonl");
  // Cutting at every byte would need hundreds of runs: cuts at line ends and a few between them.
  std::set<size_t> cuts{0, 1, lines.size() - 1, lines.size()};
  const size_t first = lines.find('\n');
  for (const size_t at : {first - 1, first, first + 1, first + 40, lines.size() / 2}) {
    cuts.insert(at);
  }
  for (const size_t cut : cuts) {
    TempFolder folder;
    folder.write("run.json", read(whole.path() / "run.json"));
    folder.write("samples.jsonl", lines.substr(0, cut));
    const EvalOutcome outcome = run(settings, folder.path(), {"passkey"});
    EXPECT_EQ(told(outcome.records), all) << "cut at " << cut;
    EXPECT_EQ(told(read_records(folder.path() / "samples.jsonl").records), all) << cut;
  }
}

TEST(Runner, SecondRunAddsMethodsSamplesAndTasks) {
  TempFolder folder;
  EvalSettings settings = small_settings();
  settings.lengths = {300};
  settings.samples = 1;
  settings.openings = Openings::kOff;
  settings.methods.resize(1);
  EXPECT_EQ(run(settings, folder.path(), {"passkey"}).records.size(), 1u);
  settings = small_settings();
  settings.openings = Openings::kOff;
  settings.lengths = {300};
  const EvalOutcome outcome = run(settings, folder.path());
  EXPECT_EQ(outcome.found, 1u);
  EXPECT_EQ(outcome.records.size(), 8u);
  const auto info = nlohmann::json::parse(read(folder.path() / "run.json"));
  EXPECT_EQ(info["samples"], 2);
  EXPECT_EQ(info["tasks"].size(), 2u);
  EXPECT_EQ(info["methods"].size(), 2u);
}

TEST(Runner, RefusesToMixConditions) {
  TempFolder folder;
  EvalSettings settings = small_settings();
  settings.lengths = {300};
  settings.samples = 1;
  run(settings, folder.path(), {"passkey"});
  const std::string before = read(folder.path() / "samples.jsonl");
  const auto refused = [&](const EvalSettings& other) {
    return error_of([&] { run(other, folder.path(), {"passkey"}); });
  };
  EvalSettings other = settings;
  other.seed = 2;
  EXPECT_TRUE(has(refused(other), {"seed 1", "has 2", "--out"}));
  other = settings;
  other.session.kv_type = DType::F32;
  EXPECT_TRUE(has(refused(other), {"kv type"}));
  other = settings;
  other.raw = true;
  EXPECT_TRUE(has(refused(other), {"chat template"}));
  EXPECT_EQ(read(folder.path() / "samples.jsonl"), before);
}

TEST(Runner, RefusesAnotherUserFileOfTheSameName) {
  TempFolder folder, a, b;
  const std::string line = R"({"id":1,"context":"c","question":"q","answers":["x"]})";
  EvalSettings settings = small_settings();
  settings.methods.resize(1);
  run(settings, folder.path(), {"jsonl:" + a.write("cases.jsonl", line).string()});
  EXPECT_TRUE(has(error_of([&] {
                    run(settings, folder.path(),
                        {"jsonl:" + b.write("cases.jsonl", line + " ").string()});
                  }),
                  {"jsonl:cases", "other contents"}));
}

TEST(Runner, ControlsReadLess) {
  TempFolder folder;
  EvalSettings settings = small_settings();
  settings.lengths = {400};
  settings.methods.resize(1);
  settings.controls = true;
  settings.openings = Openings::kOn;
  const EvalOutcome outcome = run(settings, folder.path(), {"magic"});
  std::map<std::string, const Record*> by_method;
  for (const Record& r : outcome.records) {
    if (r.id == "1") by_method[r.method] = &r;
  }
  ASSERT_EQ(by_method.size(), 3u);
  const Record &dense = *by_method["dense"], &none = *by_method["control:no-context"],
               &cut = *by_method["control:middle-cut"];
  EXPECT_EQ(dense.score, 1);
  EXPECT_EQ(none.score, 0);
  EXPECT_LT(none.prompt_tokens, 100);
  EXPECT_NEAR(static_cast<double>(cut.prompt_tokens),
              0.25 * static_cast<double>(dense.prompt_tokens), 1);
}

TEST(Runner, ErrorsOfOneMethodAreRecords) {
  TempFolder folder;
  EvalSettings settings = small_settings();
  settings.lengths = {300};
  settings.samples = 1;
  settings.session.context = 100;  // shorter than the prompt
  const EvalOutcome outcome = run(settings, folder.path(), {"passkey"});
  EXPECT_TRUE(outcome.finished);
  ASSERT_EQ(outcome.records.size(), 4u);
  for (const Record& r : outcome.records) {
    EXPECT_TRUE(has(r.error, {"--ctx 100"}));
    EXPECT_EQ(r.score, 0);
  }

  settings.session.context = 0;
  const EvalOutcome again = run(settings, folder.path(), {"passkey"});
  EXPECT_EQ(again.found, 0u) << "what failed is asked again";
  ASSERT_EQ(again.records.size(), 4u);
  for (const Record& r : again.records) EXPECT_EQ(r.error, "");
  EXPECT_EQ(run(settings, folder.path(), {"passkey"}).found, 4u);
}

TEST(Runner, AMethodWhoseFilesHaveChangedIsNotMixedWithItsFormerAnswers) {
  TempFolder folder;
  const auto gates = [&](const char* row) {
    std::string text;
    for (int layer = 0; layer < 12; ++layer) text += row;
    return folder.write("gates.tsv", text);
  };
  EvalSettings settings = small_settings();
  settings.lengths = {300};
  settings.samples = 1;
  settings.methods = {MethodSpec::parse("duo:gates=" + gates("1\t0\t0\n").string())};
  run(settings, folder.path() / "out", {"passkey"});
  run(settings, folder.path() / "out", {"passkey"});
  gates("0\t0\t1\n");
  const std::string error = error_of([&] { run(settings, folder.path() / "out", {"passkey"}); });
  EXPECT_TRUE(has(error, {"duo:gates=", "other settings", "--out"})) << error;
  settings.methods = {MethodSpec::parse("dense")};
  EXPECT_TRUE(run(settings, folder.path() / "out", {"passkey"}).finished);
}

TEST(Runner, PredictsBooksByPosition) {
  TempFolder folder;
  EvalSettings settings = small_settings();
  settings.lengths = {1300};
  settings.samples = 1;
  settings.controls = true;  // controls have no effect on this task
  const EvalOutcome outcome = run(settings, folder.path(), {"book"});
  ASSERT_EQ(outcome.records.size(), 4u);
  for (const Record& r : outcome.records) {
    EXPECT_EQ(r.metric, "nll");
    EXPECT_GT(r.score, 2);
    EXPECT_LT(r.score, 8);
  }
  EXPECT_EQ(outcome.records[0].id, "0@0");
  EXPECT_EQ(outcome.records[0].reply_tokens, 1023);
  EXPECT_EQ(outcome.records[1].position, 1024);
  EXPECT_EQ(run(settings, folder.path(), {"book"}).records.size(), 4u);

  settings.lengths = {1400};
  settings.session.context = 100;
  const EvalOutcome failed = run(settings, folder.path() / "failed", {"book"});
  EXPECT_EQ(failed.records.size(), 2u) << "a text that could not be read is told once a method";
}

TEST(Runner, UnknownOrRepeatedTasksAreRefused) {
  EXPECT_TRUE(has(error_of([] { plan_tasks(std::vector<std::string>{"needel"}); }), {"needle"}));
  EXPECT_TRUE(has(error_of([] {
                    plan_tasks(std::vector<std::string>{"passkey", "passkey"});
                  }),
                  {"given twice"}));
}

TEST(Runner, TooShortLengthIsRefusedBeforeTheRun) {
  TempFolder folder;
  EvalSettings settings = small_settings();
  settings.lengths = {70, 300};
  EXPECT_TRUE(has(error_of([&] { run(settings, folder.path() / "new"); }), {"--lengths 70"}));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "new"));
}

TEST(Runner, TellsWhetherTheAnswersPassageWasFirst) {
  EvalSettings settings = small_settings();
  settings.sources = true;
  settings.openings = Openings::kOn;
  settings.lengths = {1024};
  settings.samples = 4;
  TempFolder folder;
  int right = 0, first = 0;
  for (const Record& r : run(settings, folder.path(), {"magic"}).records) {
    ASSERT_TRUE(r.source_rank.has_value()) << r.id << " " << r.method;
    EXPECT_EQ(record_from_json(to_json(r)).source_rank, r.source_rank);
    ASSERT_TRUE(r.source_share.has_value()) << r.method;
    if (r.method != "dense" || r.score < 0.5) continue;
    EXPECT_GT(*r.source_share, 0.2) << "the answer's passage stands out";
    ++right;
    first += *r.source_rank == 1 ? 1 : 0;
  }
  EXPECT_EQ(right, 4);
  EXPECT_EQ(first, 4);
}

}  // namespace
}  // namespace longhaul
