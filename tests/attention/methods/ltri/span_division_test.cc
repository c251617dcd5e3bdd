#include "attention/methods/ltri/span_division.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace longhaul {
namespace {

// A tile worked by hand.
constexpr float kDivisionTile[] = {1,   0,   0,   0, .6f, .4f, 0,   0,
                                   .1f, .1f, .8f, 0, .1f, .1f, .3f, .5f};
constexpr BlockMap kMap{kDivisionTile, 4, 4};

struct RandomMap {
  RandomMap(int n, unsigned seed) : values(static_cast<size_t>(n * n)) {
    std::mt19937 random(seed);
    std::exponential_distribution<float> draw;
    for (float& x : values) x = draw(random);  // also above the diagonal, which must not be read
    map = {values.data(), n, n};
  }
  std::vector<float> values;
  BlockMap map;
};

TEST(SpanScores, EqualTheWorkedTile) {
  const std::vector<float> s = span_scores(kMap, 0.3f);
  const float want[4][4] = {
      {.7f, 1.1f, 1.2f, 1.0f}, {0, .1f, .4f, .4f}, {0, 0, .5f, .7f}, {0, 0, 0, .2f}};
  for (int x = 0; x < 4; ++x) {
    for (int y = x; y < 4; ++y) EXPECT_NEAR(s[static_cast<size_t>(x * 4 + y)], want[x][y], 1e-6);
  }
}

TEST(SpanScores, EqualTheDoubleSum) {
  for (const int n : {1, 2, 17, 64}) {
    const RandomMap random(n, 7);
    const std::vector<float> s = span_scores(random.map, 0.7f);
    for (int x = 0; x < n; ++x) {
      for (int y = x; y < n; ++y) {
        double sum = 0;
        for (int i = x; i <= y; ++i) {
          for (int j = x; j <= i; ++j) sum += random.map.at(i, j) - 0.7;
        }
        ASSERT_NEAR(s[static_cast<size_t>(x * n + y)], sum, 1e-3) << x << " " << y;
      }
    }
  }
}

TEST(DivideIntoSpans, EqualsTheWorkedTile) {
  const auto spans = [](float iou) {
    std::vector<std::pair<int, int>> ends;
    for (const BlockSpan& s : divide_into_spans(kMap, {0.3f, iou, 2}))
      ends.emplace_back(s.begin, s.end);
    return ends;
  };
  EXPECT_EQ(spans(0.1f), (std::vector<std::pair<int, int>>{{0, 3}, {2, 4}}));
  EXPECT_EQ(spans(0.01f), (std::vector<std::pair<int, int>>{{0, 3}, {3, 4}}));
}

TEST(DivideIntoSpans, WithoutAThresholdTheBestSpanIsTheBlock) {
  for (const int n : {1, 2, 33, 128}) {
    const RandomMap random(n, 3);
    const auto spans = divide_into_spans(random.map, {0, 0.1f, 4});
    EXPECT_EQ(spans.front().begin, 0);
    EXPECT_EQ(spans.front().end, n);
  }
}

TEST(DivideIntoSpans, UnderTooHighAThresholdSpansAreOneOrTwoTokensLong) {
  const RandomMap random(40, 4);
  const float top = *std::max_element(random.values.begin(), random.values.end());
  const auto spans = divide_into_spans(random.map, {top + 1e-3f, 0.99f, 1000});
  EXPECT_EQ(spans.size(), 79u);  // one per midpoint
  for (const BlockSpan& s : spans) {
    EXPECT_LE(s.length(), 2);
    EXPECT_LE(s.score, 0);
  }
}

TEST(DivideIntoSpans, SpansThatStayDoNotOverlapMoreThanAllowed) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RandomMap random(64, seed);
    for (const float iou : {0.0f, 0.1f, 0.5f}) {
      const auto spans = divide_into_spans(random.map, {map_quantile(random.map, 0.9), iou, 6});
      ASSERT_FALSE(spans.empty());
      ASSERT_LE(spans.size(), 6u);
      for (size_t a = 0; a < spans.size(); ++a) {
        EXPECT_LE(spans[a].score, spans[a == 0 ? 0 : a - 1].score);
        for (size_t b = 0; b < a; ++b) EXPECT_LE(span_iou(spans[a], spans[b]), iou);
      }
    }
  }
}

TEST(DivideIntoSpans, FindsTwoTopicsThatDoNotAttendToEachOther) {
  std::vector<float> values(32 * 32, 0.0f);
  for (int i = 0; i < 32; ++i) {
    for (int j = i < 20 ? 0 : 20; j <= i; ++j) values[static_cast<size_t>(i * 32 + j)] = 0.5f;
  }
  const auto spans = divide_into_spans({values.data(), 32, 32}, {0.3f, 0.1f, 2});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].begin, 0);
  EXPECT_EQ(spans[0].end, 20);
  EXPECT_EQ(spans[1].begin, 20);
  EXPECT_EQ(spans[1].end, 32);
}

TEST(DivideIntoSpans, WhatIsNoNumberComesLast) {
  RandomMap random(64, 5);
  for (int i = 40; i < 64; ++i) {  // rows of the second part
    for (int j = 0; j <= i; ++j) random.values[static_cast<size_t>(i * 64 + j)] = NAN;
  }
  const auto spans = divide_into_spans(random.map, {0.5f, 0.1f, 4});
  ASSERT_FALSE(spans.empty());
  EXPECT_LE(spans[0].end, 40);
  EXPECT_GT(spans[0].score, 0);
}

TEST(SpanIou, IsOfSquares) {
  EXPECT_NEAR(span_iou({0, 10}, {5, 15}), 25.0 / 175.0, 1e-6);
  EXPECT_EQ(span_iou({0, 3}, {3, 9}), 0.0f);
  EXPECT_EQ(span_iou({2, 7}, {2, 7}), 1.0f);
}

TEST(MapQuantile, InterpolatesBetweenTheEntriesOfTheTriangle) {
  const float values[] = {3, 99, 1, 2};  // the triangle has 1, 2, 3
  const BlockMap map{values, 2, 2};
  EXPECT_FLOAT_EQ(map_quantile(map, 0), 1);
  EXPECT_FLOAT_EQ(map_quantile(map, 0.25), 1.5f);
  EXPECT_FLOAT_EQ(map_quantile(map, 0.5), 2);
  EXPECT_FLOAT_EQ(map_quantile(map, 0.9), 2.8f);
  EXPECT_FLOAT_EQ(map_quantile(map, 1), 3);
}

TEST(SpanRatio, ComparesASpanWithItsNeighbours) {
  const BlockSpan middle{1, 3};                                           // from the worked tile
  EXPECT_FLOAT_EQ(span_ratio(kMap, middle, SpanNeighbours::kRow), 1.0f);  // 1.3 / 0.7
  EXPECT_FLOAT_EQ(span_ratio(kMap, {3, 4}, SpanNeighbours::kRow), 1.0f);  // 0.5 / 0.5
  EXPECT_FLOAT_EQ(span_ratio(kMap, {1, 2}, SpanNeighbours::kRow), 0.4f / 0.6f);
  EXPECT_FLOAT_EQ(span_ratio(kMap, {1, 2}, SpanNeighbours::kBoth), 0.4f / 0.8f);
  EXPECT_FLOAT_EQ(span_ratio(kMap, {1, 2}, SpanNeighbours::kColumn), 1.0f);
  EXPECT_FLOAT_EQ(span_ratio(kMap, {0, 4}, SpanNeighbours::kBoth), 1.0f);
}

TEST(IndexCount, FallsWithConfidence) {
  EXPECT_EQ(index_count(10, 1.0f, 3, 4), 4);
  EXPECT_EQ(index_count(10, 1.0f, 3, 12), 10);
  EXPECT_EQ(index_count(10, 0.5f, 3, 12), 3);   // 10 * .2231
  EXPECT_EQ(index_count(10, 0.75f, 3, 12), 5);  // 10 * .4724
  EXPECT_EQ(index_count(10, 0.9f, 20, 12), 2);  // 10 * .1353
  EXPECT_EQ(index_count(10, 0.0f, 20, 12), 1);
}

/// Maps from damaged weights have NaN ratios, which must not become counts.
TEST(IndexCount, OfNoRatioIsAllTokens) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(index_count(10, none, 3, 12), 10);
  EXPECT_EQ(index_count(10, none, 3, 4), 4);
  EXPECT_EQ(index_count(10, 1.0f, none, 12), 10);
}

}  // namespace
}  // namespace longhaul
