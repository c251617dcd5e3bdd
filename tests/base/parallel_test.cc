#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

namespace longhaul {
namespace {

TEST(Parallel, EveryIndexRunsOnceOnAValidThread) {
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    std::vector<std::atomic<int>> seen(1000);
    parallel_for(1000, [&](int64_t i, int thread) {
      EXPECT_GE(thread, 0);
      EXPECT_LT(thread, threads);
      ++seen[static_cast<size_t>(i)];
    });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, NestedLoopsRunOnTheCallingThread) {
  set_thread_count(2);
  std::atomic<int> total{0};
  parallel_for(4, [&](int64_t, int) {
    parallel_for(8, [&](int64_t, int thread) {
      EXPECT_EQ(thread, 0);
      ++total;
    });
  });
  EXPECT_EQ(total, 32);
}

TEST(Parallel, RangesCoverEverythingInWholeGrains) {
  set_thread_count(3);
  for (const int64_t count : {0, 1, 15, 16, 17, 100}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
    parallel_ranges(count, 16, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(begin % 16, 0);
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (const auto& n : seen) EXPECT_EQ(n, 1);
  }
}

TEST(Parallel, WhatABodyThrowsReachesTheCallerFromAnyThread) {
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    for (const int64_t bad : {0, 499, 999}) {
      std::atomic<int> calls{0};
      const auto loop = [&] {
        parallel_for(1000, [&](int64_t i, int) {
          ++calls;
          if (i == bad) throw std::bad_alloc();
        });
      };
      EXPECT_THROW(loop(), std::bad_alloc);
      EXPECT_GT(calls, bad);
      calls = 0;
      parallel_for(1000, [&](int64_t, int) { ++calls; });  // the pool still works
      EXPECT_EQ(calls, 1000);
    }
  }
  set_thread_count(2);
}

TEST(ParallelRuns, EveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    for (const int64_t count : {0, 1, 3, 4, 5, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      parallel_runs(count, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
      for (const auto& of_index : calls) ASSERT_EQ(of_index, 1) << threads << " threads, " << count;
    }
  }
  set_thread_count(2);
}

TEST(ParallelRuns, ARunOfAThreadThatIsLateIsDoneByTheOthers) {
  set_thread_count(2);
  std::atomic<int> others{0};
  std::atomic<bool> in_time{true};
  parallel_runs(100, [&](int64_t i) {
    if (i != 0) {
      ++others;
      return;
    }
    // The first index waits for all others: those of its own run must be done elsewhere.
    for (int wait = 0; others < 99 && wait < 10000; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    in_time = others == 99;
  });
  EXPECT_TRUE(in_time);
}

}  // namespace
}  // namespace longhaul
