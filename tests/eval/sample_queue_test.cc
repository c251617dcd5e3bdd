// The order of a run's samples, and which thread makes them when.

#include "eval/sample_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/error_of.h"
#include "eval/nano.h"
#include "eval/task_run.h"

namespace longhaul {
namespace {

using testing_support::bare_samples;
using testing_support::nano_composer;
using testing_support::test_data;

EvalSettings settings_of(std::vector<int64_t> lengths, int samples, int parallel) {
  EvalSettings s;
  s.methods = {MethodSpec::parse("dense")};
  s.lengths = std::move(lengths);
  s.samples = samples;
  s.parallel = parallel;
  return s;
}

/// A task of any length that reports its requests.
template <class Told>
PlannedTask counted_task(Told&& told) {
  PlannedTask task;
  task.name = "counted";
  task.make = [told](const TaskRequest& request) {
    told(request);
    return bare_samples(request.samples);
  };
  return task;
}

using Made = std::vector<std::pair<int64_t, int>>;  // length, samples

TEST(SampleQueue, AloneItMakesSamplesWhenTheirTurnComes) {
  Made made;
  const PlannedTask task = counted_task(
      [&](const TaskRequest& request) { made.emplace_back(request.length, request.samples); });
  const EvalSettings settings = settings_of({200, 100}, 2, 1);
  SampleQueue queue(settings, {&task, 1}, nano_composer(), test_data());
  EXPECT_EQ(made, (Made{{100, 1}}));
  EXPECT_EQ(queue.answers(), 4);
  ASSERT_EQ(queue.planned().size(), 1u);
  EXPECT_EQ(queue.planned().front().length, 100);
  std::vector<std::pair<int64_t, std::string>> order;
  while (const auto queued = queue.next()) {
    order.emplace_back(queued->length, queued->sample->id);
    if (order.size() <= 2) {
      EXPECT_EQ(made.back().first, 100) << "the next length is not made yet";
    }
  }
  EXPECT_EQ(order, (std::vector<std::pair<int64_t, std::string>>{
                       {100, "0"}, {100, "1"}, {200, "0"}, {200, "1"}}));
  EXPECT_EQ(made, (Made{{100, 1}, {100, 2}, {200, 2}}));
  EXPECT_FALSE(queue.next());
}

TEST(SampleQueue, ForSeveralThreadsItMakesTheNextLengthAhead) {
  Made made;
  const PlannedTask task = counted_task(
      [&](const TaskRequest& request) { made.emplace_back(request.length, request.samples); });
  const EvalSettings settings = settings_of({100, 200, 300}, 3, 2);
  SampleQueue queue(settings, {&task, 1}, nano_composer(), test_data());
  queue.next();  // this sample was planned; a thread without a sample makes the others
  EXPECT_EQ(made, (Made{{100, 1}}));
  queue.next();
  EXPECT_EQ(made, (Made{{100, 1}, {100, 3}, {200, 3}}));
  queue.next();
  EXPECT_EQ(made.size(), 3u);
  EXPECT_EQ(queue.next()->length, 200);
  EXPECT_EQ(made.back(), (std::pair<int64_t, int>(300, 3)));
}

TEST(SampleQueue, MakesTheFirstSampleOfWhatIsWanted) {
  Made made;
  const PlannedTask task = counted_task(
      [&](const TaskRequest& request) { made.emplace_back(request.length, request.samples); });
  const EvalSettings settings = settings_of({100, 200, 300}, 2, 1);
  SampleQueue queue(settings, {&task, 1}, nano_composer(), test_data());
  queue.plan_first([](const PlannedTask&, int64_t length) { return length != 200; });
  EXPECT_EQ(made, (Made{{100, 1}, {300, 1}}));
  ASSERT_EQ(queue.planned().size(), 2u);
  EXPECT_EQ(queue.planned().back().length, 300);
  std::vector<std::pair<int64_t, std::string>> order;
  while (const auto queued = queue.next()) order.emplace_back(queued->length, queued->sample->id);
  EXPECT_EQ(order, (std::vector<std::pair<int64_t, std::string>>{
                       {100, "0"}, {100, "1"}, {200, "0"}, {200, "1"}, {300, "0"}, {300, "1"}}));
  EXPECT_EQ(made, (Made{{100, 1}, {300, 1}, {100, 2}, {200, 2}, {300, 2}}));
}

TEST(SampleQueue, AFailureAheadIsThrownWhenItsTurnComes) {
  int failed = 0;
  const PlannedTask task = counted_task([&](const TaskRequest& request) {
    if (request.length == 100) return;
    ++failed;
    user_error("no such length");
  });
  const EvalSettings settings = settings_of({100, 200}, 3, 2);
  SampleQueue queue(settings, {&task, 1}, nano_composer(), test_data());
  EXPECT_EQ(queue.next()->sample->id, "0");
  EXPECT_EQ(queue.next()->sample->id, "1");
  EXPECT_EQ(failed, 1) << "while the second one was taken";
  EXPECT_EQ(queue.next()->sample->id, "2");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(testing_support::error_of([&] { queue.next(); }), "no such length");
  }
  EXPECT_EQ(failed, 1);
}

TEST(SampleQueue, ThreadsGetEverySampleOnceAndOneMakesAtATime) {
  std::atomic<int> making{0}, most{0};
  const PlannedTask task = counted_task([&](const TaskRequest&) {
    const int now = ++making;
    if (now > most) most = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --making;
  });
  const EvalSettings settings = settings_of({100, 200, 300, 400, 500, 600}, 3, 4);
  SampleQueue queue(settings, {&task, 1}, nano_composer(), test_data());
  std::mutex mutex;
  std::multiset<std::pair<int64_t, std::string>> taken;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (const auto queued = queue.next()) {
        const std::lock_guard lock(mutex);
        taken.emplace(queued->length, queued->sample->id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::multiset<std::pair<int64_t, std::string>> all;
  for (const int64_t length : settings.lengths) {
    for (const char* id : {"0", "1", "2"}) all.emplace(length, id);
  }
  EXPECT_EQ(taken, all);
  EXPECT_EQ(most, 1);
}

TEST(SampleQueue, ATaskThatFailsEndsEveryThreadsWait) {
  const PlannedTask task = counted_task([](const TaskRequest& request) {
    if (request.length == 100) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    user_error("no such length");
  });
  const EvalSettings settings = settings_of({100, 200}, 2, 3);
  SampleQueue queue(settings, {&task, 1}, nano_composer(), test_data());
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      try {
        while (queue.next()) {
        }
      } catch (const UserError&) {
        ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 3);
}

TEST(SampleQueue, ShardsDivideTheSamples) {
  const PlannedTask task = counted_task([](const TaskRequest&) {});
  std::multiset<std::pair<int64_t, std::string>> all, whole;
  int64_t answers = 0;
  EvalSettings settings = settings_of({200, 100}, 5, 1);
  for (const int index : {0, 1, 2}) {
    settings.shard = {index, 3};
    SampleQueue queue(settings, {&task, 1}, nano_composer(), test_data());
    answers += queue.answers();
    int64_t here = 0;
    while (const auto queued = queue.next()) {
      all.emplace(queued->length, queued->sample->id);
      ++here;
    }
    EXPECT_EQ(here, queue.answers());
  }
  settings.shard = {};
  SampleQueue queue(settings, {&task, 1}, nano_composer(), test_data());
  EXPECT_EQ(answers, queue.answers());
  while (const auto queued = queue.next()) whole.emplace(queued->length, queued->sample->id);
  EXPECT_EQ(all, whole);
}

TEST(SampleQueue, NumbersOfShards) {
  EXPECT_EQ(shard_from("2/4").text(), "2/4");
  for (const char* wrong : {"5/4", "0/4", "1/0", "a/4", "1", "1/4x", "-1/4", ""}) {
    EXPECT_NE(testing_support::error_of([&] { shard_from(wrong); }).find("--shard"),
              std::string::npos)
        << wrong;
  }
}

}  // namespace
}  // namespace longhaul
