#include "ops/attention/causal_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace longhaul {
namespace {

TEST(CausalPairs, AreWhatALoopCounts) {
  for (const int64_t window : {0, 1, 5, 11, 100}) {
    for (int64_t begin = 0; begin < 14; ++begin) {
      int64_t pairs = 0;
      for (int64_t rows = 0; rows < 14; ++rows) {
        ASSERT_EQ(causal_pairs(begin, rows, window), pairs)
            << rows << " rows from " << begin << ", window " << window;
        const int64_t seen = begin + rows + 1;  // by the next row
        pairs += window > 0 ? std::min(seen, window) : seen;
      }
    }
  }
}

TEST(CausalPairs, OfChunksAreWhatALoopCounts) {
  for (const int64_t size : {1, 5, 11, 100}) {
    for (int64_t begin = 0; begin < 14; ++begin) {
      int64_t pairs = 0;
      for (int64_t rows = 0; rows < 30; ++rows) {
        ASSERT_EQ(causal_pairs(begin, rows, size, true), pairs)
            << rows << " rows from " << begin << ", chunks of " << size;
        pairs += (begin + rows) % size + 1;
      }
    }
  }
}

TEST(CausalPairs, PassesAddUpToThePrompt) {
  for (const int64_t window : {0, 4096, 100'000}) {
    int64_t pairs = 0;
    for (int64_t begin = 0; begin < 1'000'000; begin += 4000) {
      pairs += causal_pairs(begin, 4000, window);
    }
    EXPECT_EQ(causal_pairs(0, 1'000'000, window), pairs) << window;
  }
}

}  // namespace
}  // namespace longhaul
