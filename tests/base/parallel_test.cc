#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
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

}  // namespace
}  // namespace longhaul
