#include "ops/choose/pool_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;
using Scores = std::vector<float>;

Scores pooled(const Scores& scores, int width, Pooling pooling) {
  Scores out(scores.size(), NAN);
  pool_scores(host_queue(), view_of(scores), width, pooling, view_of(out));
  return out;
}

/// Pools one place at a time over its neighbours in ascending order.
float plain_pool(const Scores& scores, int64_t i, int width, Pooling pooling) {
  const int64_t n = std::ssize(scores), reach = width / 2;
  const auto first = scores.begin() + std::max<int64_t>(0, i - reach);
  const auto last = scores.begin() + std::min(n, i + reach + 1);
  return pooling == Pooling::kMax ? *std::max_element(first, last)
                                  : std::accumulate(first, last, 0.0f) / static_cast<float>(width);
}

TEST(PoolScores, EqualAPlainLoopBitForBit) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  for (const size_t n : {0u, 1u, 2u, 63u, 64u, 65u, 255u, 256u, 257u, 700u}) {
    for (const int width : {1, 3, 5, 63, 129}) {
      for (const Pooling pooling : {Pooling::kAverage, Pooling::kMax}) {
        Scores scores(n);
        for (float& s : scores) {
          s = random() % 8 == 0 ? -0.0f : random() % 100 == 0 ? NAN : normal(random);
        }
        const Scores got = pooled(scores, width, pooling);
        for (size_t i = 0; i < n; ++i) {
          const float want = plain_pool(scores, static_cast<int64_t>(i), width, pooling);
          if (std::isnan(want)) {
            ASSERT_TRUE(std::isnan(got[i])) << n << " " << width << " " << i;
          } else {
            ASSERT_EQ(std::memcmp(&got[i], &want, sizeof want), 0)
                << n << " " << width << " at " << i << ": " << got[i] << ", not " << want;
          }
        }
      }
    }
  }
}

TEST(PoolScores, AverageCountsTheEndsAsZerosAndMaxDoesNot) {
  EXPECT_EQ(pooled({5, 0, 0, 0, 0}, 5, Pooling::kAverage), (Scores{1, 1, 1, 0, 0}));
  EXPECT_EQ(pooled({5, 0, 0, 0, 0}, 5, Pooling::kMax), (Scores{5, 5, 5, 0, 0}));
  EXPECT_EQ(pooled({-1, -2, -3}, 3, Pooling::kMax), (Scores{-1, -1, -2}));
  EXPECT_EQ(pooled({3, 6}, 3, Pooling::kAverage), (Scores{3, 3}));
}

}  // namespace
}  // namespace longhaul
