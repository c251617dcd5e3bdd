#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <thread>
#include <vector>

#include "base/error_of.h"

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
    // The first index waits for all others, so those of its own run must be processed by other
    // threads.
    for (int wait = 0; others < 99 && wait < 10000; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    in_time = others == 99;
  });
  EXPECT_TRUE(in_time);
}

// Sanitizers reserve address space for per-thread tables.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/// Bytes of address space of this process, from /proc/self/statm.
size_t addresses() {
  std::ifstream in("/proc/self/statm");
  size_t pages = 0;
  in >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// Runs in a process of its own: prints the refusal and exits.
[[noreturn]] void start_too_many_threads() {
  set_thread_count(60);
  const rlimit tight = {addresses() + (size_t{32} << 20), RLIM_INFINITY};  // stacks of 8 MiB
  setrlimit(RLIMIT_AS, &tight);
  const auto loop = [] { parallel_for(100, [](int64_t, int) {}); };
  const std::string first = testing_support::error_of(loop);
  // The threads that did start are not kept.
  const std::string again = testing_support::error_of(loop);
  EXPECT_TRUE(testing_support::has(again, {"--threads 60: only"}));
  set_thread_count(1);
  loop();
  std::fprintf(stderr, "%s\n", first.c_str());
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(Parallel, ThreadsThatCannotStartAreNamedWithTheLimit) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      start_too_many_threads(), testing::ExitedWithCode(0),
      "^--threads 60: only [0-9]+ could be started: Resource temporarily unavailable.*of addresses "
      "\\(ulimit -v\\)\n$");
}

#endif

}  // namespace
}  // namespace longhaul
