// Progress of a run and estimate of the remaining time, also if earlier runs have answered a part.

#include "eval/run_progress.h"

#include <gtest/gtest.h>

#include "eval/nano_run.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::run;
using testing_support::small_settings;
using testing_support::TempFolder;

class Progress : public testing::Test {
 protected:
  Progress() {
    tested_methods_[0].name = "dense";
    tested_methods_[1].name = "snapkv";
    hooks_.progress = [this](const EvalProgress& progress) { last_ = progress; };
  }
  static Record answer(const char* method) {
    Record r;
    r.method = method;
    r.score = 1;
    return r;
  }
  std::vector<TestedMethod> tested_methods_{2};
  EvalHooks hooks_;
  EvalProgress last_;
};

TEST_F(Progress, TheRestTakesAsLongAsWhatIsDone) {
  RunProgress progress(tested_methods_, 4, 1000, hooks_);
  progress.count(100, {answer("dense")}, 1);
  EXPECT_EQ(last_.done, 1);
  EXPECT_DOUBLE_EQ(seconds_left(last_, 2), 18);
  EXPECT_LT(seconds_left(last_, 0.5), 0) << "too early";
  progress.count(100, {answer("snapkv")}, 1);
  progress.count(800, {answer("dense")}, 8);
  EXPECT_DOUBLE_EQ(seconds_left(last_, 20), 0);
}

TEST_F(Progress, AnswersThatWereFoundAreNoWorkOfThisRun) {
  RunProgress progress(tested_methods_, 10, 1000, hooks_);
  for (int i = 0; i < 8; ++i) progress.add_found(answer("dense"), 100);
  for (int i = 0; i < 8; ++i) progress.count(100, {}, 0);
  EXPECT_EQ(last_.done, 8);
  EXPECT_LT(seconds_left(last_, 5), 0) << "nothing is known of this run's speed";
  progress.count(100, {answer("dense")}, 10);
  EXPECT_DOUBLE_EQ(seconds_left(last_, 10), 10) << "one more like the one that took 10 seconds";
}

TEST_F(Progress, AMethodMoreIsAllThatIsLeft) {
  RunProgress progress(tested_methods_, 20, 2000, hooks_);
  for (int i = 0; i < 10; ++i) progress.add_found(answer("dense"), 100);
  progress.add_found(answer("h2o"), 100);  // not part of this run
  for (int i = 0; i < 2; ++i) {
    progress.count(100, {}, 0);
    progress.count(100, {answer("snapkv")}, 3);
  }
  EXPECT_DOUBLE_EQ(seconds_left(last_, 6), 24) << "eight of snapkv, none of dense";
}

TEST(RunnerProgress, AFurtherRunCountsItsOwnWorkOnly) {
  const TempFolder folder;
  EvalSettings settings = small_settings();
  settings.lengths = {300};
  settings.methods.resize(1);
  std::vector<std::pair<double, double>> told;  // fresh, left
  EvalHooks hooks;
  hooks.progress = [&](const EvalProgress& progress) {
    told.emplace_back(progress.fresh, progress.left);
  };
  using Told = std::vector<std::pair<double, double>>;
  run(settings, folder.path(), {"passkey"}, hooks);
  EXPECT_EQ(told, (Told{{300, 900}, {600, 600}, {900, 300}, {1200, 0}}));
  told.clear();
  run(settings, folder.path(), {"passkey"}, hooks);
  EXPECT_EQ(told, (Told{{0, 0}, {0, 0}, {0, 0}, {0, 0}}));
  told.clear();
  settings.samples = 3;
  run(settings, folder.path(), {"passkey"}, hooks);
  EXPECT_EQ(told, (Told{{0, 600}, {0, 600}, {0, 600}, {0, 600}, {300, 300}, {600, 0}}));
  told.clear();
  settings.samples = 1;
  run(settings, folder.path(), {"passkey", "magic"}, hooks);
  EXPECT_EQ(told, (Told{{0, 600}, {0, 600}, {300, 300}, {600, 0}})) << "the second is not asked";
}

}  // namespace
}  // namespace longhaul
