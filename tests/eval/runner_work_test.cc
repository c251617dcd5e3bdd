// Distribution and end of a run's work: threads and their order, an early stop, and readings that
// several answers share.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/parallel.h"
#include "eval/nano_run.h"
#include "eval/task_run.h"
#include "eval/tasks/jsonl.h"
#include "format/temp_folder.h"
#include "text/json_file.h"

namespace longhaul {
namespace {

using testing_support::bare_samples;
using testing_support::nano;
using testing_support::run;
using testing_support::small_settings;
using testing_support::TempFolder;
using testing_support::told;

/// Sets the number of threads for its lifetime.
class Threads {
 public:
  explicit Threads(int count) : before_(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// Bare questions of one length, for two threads.
EvalSettings two_at_a_time(int samples) {
  EvalSettings s = small_settings();
  s.methods.resize(1);
  s.lengths = {300};
  s.samples = samples;
  s.parallel = 2;
  return s;
}

/// A task whose samples take `seconds` to make, except for the one that is made before the run.
PlannedTask bare_task(const std::atomic<double>& seconds) {
  PlannedTask task;
  task.name = "bare";
  task.make = [&seconds](const TaskRequest& request) {
    if (request.samples > 1)
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds.load()));
    return bare_samples(request.samples);
  };
  return task;
}

TEST(RunnerWork, ParallelGivesTheSameAnswers) {
  const Threads two_threads(2);
  TempFolder one, two;
  EvalSettings settings = small_settings();
  const auto alone = told(run(settings, one.path()).records);
  settings.parallel = 2;
  const EvalOutcome outcome = run(settings, two.path());
  EXPECT_EQ(told(outcome.records), alone);
  EXPECT_LE(outcome.engine_seconds + outcome.idle_seconds, 2 * outcome.seconds);
}

TEST(RunnerWork, TogetherGivesTheSameAnswersInTheSameOrder) {
  TempFolder one, many;
  EvalSettings settings = small_settings();
  const auto records_of = [](const EvalOutcome& outcome) {
    std::vector<std::string> all;
    for (const Record& r : outcome.records) {
      all.push_back(fmt::format("{} {} {} {} {} {} {}", r.task, r.id, r.method, r.opening, r.reply,
                                r.score, r.reply_tokens));
    }
    return all;
  };
  const auto alone = records_of(run(settings, one.path()));
  settings.together = 5;
  EXPECT_EQ(records_of(run(settings, many.path())), alone);
  EXPECT_GT(alone.size(), 5u);
}

TEST(RunnerWork, AThreadWithoutASampleIsIdle) {
  const Threads two_threads(2);
  const TempFolder folder;
  const std::atomic<double> at_once{0.0};
  const PlannedTask task = bare_task(at_once);
  const EvalOutcome outcome = run_eval(nano(), two_at_a_time(1), {&task, 1}, folder.path());
  ASSERT_EQ(outcome.records.size(), 1u);
  EXPECT_GT(outcome.engine_seconds, 0);
  EXPECT_GT(outcome.idle_seconds, outcome.engine_seconds / 2) << "the other one did nothing";
}

TEST(RunnerWork, AThreadThatWaitsForSamplesIsIdle) {
  const Threads two_threads(2);
  const TempFolder folder;
  std::atomic<double> seconds{0.0};
  const PlannedTask task = bare_task(seconds);
  const EvalSettings settings = two_at_a_time(2);
  EXPECT_EQ(run_eval(nano(), settings, {&task, 1}, folder.path()).records.size(), 2u);
  seconds = 0.2;  // the only work of this run: one thread makes the samples
  const EvalOutcome outcome = run_eval(nano(), settings, {&task, 1}, folder.path());
  EXPECT_EQ(outcome.found, 2u);
  EXPECT_EQ(outcome.engine_seconds, 0);
  EXPECT_GT(outcome.idle_seconds, 0.1);
  EXPECT_LT(outcome.idle_seconds, 2 * outcome.seconds - 0.1) << "who makes samples is not";
}

TEST(RunnerWork, CancelledRunKeepsWhatIsDoneAndGoesOn) {
  TempFolder folder;
  EvalSettings settings = small_settings();
  settings.lengths = {300};
  CancelFlag cancel;
  EvalHooks hooks;
  hooks.cancel = &cancel;
  hooks.progress = [&](const EvalProgress& progress) {
    EXPECT_EQ(progress.total, 8);
    if (progress.done == 3) cancel.request();
  };
  const EvalOutcome stopped = run(settings, folder.path(), {"passkey"}, hooks);
  const auto noted_as_finished = [&] {
    return !read_json_file(folder.path() / "run.json").contains("unfinished");
  };
  EXPECT_FALSE(stopped.finished);
  EXPECT_EQ(stopped.records.size(), 3u);
  EXPECT_FALSE(noted_as_finished());
  EvalSettings one_method = settings;
  one_method.methods.resize(1);
  run(one_method, folder.path(), {"passkey"});
  EXPECT_FALSE(noted_as_finished()) << "the other method has not answered";
  const EvalOutcome rest = run(settings, folder.path(), {"passkey"});
  EXPECT_GE(rest.found, 4u);
  EXPECT_EQ(rest.records.size(), 8u);
  EXPECT_TRUE(noted_as_finished());

  // An earlier finished state does not affect a run that adds to the folder.
  EvalSettings another = settings;
  another.methods = {MethodSpec::parse("h2o:budget=64")};
  hooks.progress = [&](const EvalProgress&) { cancel.request(); };
  cancel.clear();
  run(another, folder.path(), {"passkey"}, hooks);
  EXPECT_FALSE(noted_as_finished());
  run(another, folder.path(), {"passkey"});
  EXPECT_TRUE(noted_as_finished());
}

TEST(RunnerWork, SharedReadingsChangeNoAnswer) {
  EvalSettings settings = small_settings();
  settings.lengths = {400};
  settings.methods = {MethodSpec::parse("snapkv:capacity=128,window=16"),
                      MethodSpec::parse("dense"),
                      MethodSpec::parse("pyramidkv:capacity=128,window=16"),
                      MethodSpec::parse("snapkv:capacity=128,window=16,per=query_head")};
  TempFolder one, two;
  const auto in = [&](const TempFolder& folder, bool share) {
    settings.share_reading = share;
    return run(settings, folder.path());
  };
  const EvalOutcome shared = in(one, true), alone = in(two, false);
  EXPECT_EQ(told(shared.records), told(alone.records));
  // One reading of each prompt instead of eight: four methods, with and without opening. If other
  // programs use the processors meanwhile, the gain may show only in a repetition.
  bool faster = shared.engine_seconds < 0.9 * alone.engine_seconds;
  for (int more = 0; !faster && more < 3; ++more) {
    const TempFolder again, alone_again;
    faster = in(again, true).engine_seconds < 0.9 * in(alone_again, false).engine_seconds;
  }
  EXPECT_TRUE(faster);
  std::map<std::string, const Record*> by_cell;
  const auto cell = [](const Record& r) {
    return r.task + (r.opening ? "+" : "-") + std::to_string(r.length) + "/" + r.id + r.method;
  };
  for (const Record& r : alone.records) by_cell[cell(r)] = &r;
  for (const Record& r : shared.records) {
    const Record& other = *by_cell.at(cell(r));
    EXPECT_EQ(r.kv_bytes, other.kv_bytes) << cell(r);
    EXPECT_NEAR(r.pairs_share, other.pairs_share, 0.02) << cell(r);
  }
}

TEST(RunnerWork, CasesAboutOneContextShareItsPrefill) {
  std::string context;
  for (int i = 0; i < 150; ++i) {
    context += "The rain had not stopped since the morning, and the road lay under water. ";
  }
  context += "One of the special magic numbers for quiet-harbor is: 4827163.";
  const TempFolder folder;
  std::string lines;
  for (int i = 0; i < 6; ++i) {
    lines +=
        nlohmann::json{{"id", std::to_string(i)},
                       {"context", context},
                       {"question", "Question " + std::to_string(i) +
                                        ": what is the special magic number for quiet-harbor?"},
                       {"answers", {"4827163"}}}
            .dump() +
        "\n";
  }
  const PlannedTask task = jsonl_task(folder.write("cases.jsonl", lines));
  for (const Sample& sample : task.make({})) EXPECT_TRUE(sample.shares_context);
  EvalSettings settings = small_settings();
  settings.methods = {MethodSpec::parse("dense")};
  settings.openings = Openings::kOff;
  const auto in = [&](bool share) {
    const TempFolder out;
    settings.share_reading = share;
    return run_eval(nano(), settings, {&task, 1}, out.path(), {});
  };
  const EvalOutcome shared = in(true), alone = in(false);
  EXPECT_EQ(told(shared.records), told(alone.records));
  bool faster = shared.engine_seconds < 0.6 * alone.engine_seconds;
  for (int more = 0; !faster && more < 3; ++more) {
    faster = in(true).engine_seconds < 0.6 * in(false).engine_seconds;
  }
  EXPECT_TRUE(faster);
}

/// snapkv evicts when a prompt ends. 60 tokens that are read as generated ones stay in addition to
/// its 128.
TEST(RunnerWork, TokensReadAsGeneratedAreNotLookedAtByWhatEndsAPrompt) {
  const TempFolder folder;
  EvalSettings settings = small_settings();
  settings.methods = {MethodSpec::parse("dense"),
                      MethodSpec::parse("snapkv:capacity=128,window=48")};
  settings.lengths = {400};
  settings.openings = Openings::kOn;
  const auto score_of = [](const EvalOutcome& outcome, std::string_view method) {
    double sum = 0;
    for (const Record& r : outcome.records) sum += r.method.starts_with(method) ? r.score : 0;
    return sum;
  };
  const auto bytes_of = [](const EvalOutcome& outcome, std::string_view method) {
    int64_t sum = 0;
    for (const Record& r : outcome.records) sum += r.method.starts_with(method) ? r.kv_bytes : 0;
    return sum;
  };
  const EvalOutcome usual = run(settings, folder.path() / "usual", {"magic"});
  settings.simulated = 60;
  const EvalOutcome simulated = run(settings, folder.path() / "simulated", {"magic"});
  EXPECT_EQ(score_of(usual, "dense"), 2);
  EXPECT_EQ(score_of(simulated, "dense"), 2);
  EXPECT_EQ(bytes_of(usual, "dense"), bytes_of(simulated, "dense"));
  EXPECT_EQ(2 * bytes_of(simulated, "snapkv"), 3 * bytes_of(usual, "snapkv")) << "pages of 64 rows";
  for (const Record& r : simulated.records) EXPECT_EQ(r.error, "");
  // Neither setting can continue in the other's folder.
  EXPECT_THROW(run(settings, folder.path() / "usual", {"magic"}), UserError);
  settings.simulated = 0;
  EXPECT_THROW(run(settings, folder.path() / "simulated", {"magic"}), UserError);
}

/// One of 30 blocks is looked up in every layer. That is too few to find the number unless it is
/// always visible.
TEST(RunnerWork, TheEvidenceIsInSightOfEveryLayer) {
  const TempFolder folder;
  EvalSettings settings = small_settings();
  const std::string method = "infllm:n_init=16,n_local=128,block=32,topk=1,cached=1";
  settings.methods = {MethodSpec::parse(method)};
  settings.lengths = {1200};
  settings.openings = Openings::kOff;
  settings.inject_evidence = true;
  std::vector<PlannedTask> tasks = plan_tasks(std::vector<std::string>{"magic"});
  tasks.emplace_back().name = "bare";
  tasks.back().make = [](const TaskRequest&) { return bare_samples(1); };
  const EvalOutcome outcome = run_eval(nano(), settings, tasks, folder.path(), {});
  ASSERT_EQ(outcome.records.size(), 6u);
  int seen = 0, right = 0;
  for (const Record& r : outcome.records) {
    const bool shown = r.method.starts_with("control:evidence+infllm:");
    if (r.task == "bare") {
      EXPECT_EQ(r.error, shown ? "no sentence of the context holds the answer" : "");
      continue;
    }
    const bool all = std::ranges::all_of(r.recall, [](double share) { return share == 1; });
    EXPECT_EQ(all, shown || r.depth >= 0.99) << r.method << r.id;
    (shown ? seen : right) += r.score == 1;
  }
  EXPECT_GT(seen, right);
}

}  // namespace
}  // namespace longhaul
