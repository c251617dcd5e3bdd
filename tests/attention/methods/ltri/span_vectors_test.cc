#include "attention/methods/ltri/span_vectors.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::view_of;

constexpr float kLow = 0.01f;

/// Tokens 0 to 2 and 3 to 5 attend only to themselves, the second triangle more strongly.
std::vector<float> two_triangles() {
  std::vector<float> map(36, kLow);
  for (int i = 0; i < 6; ++i) {
    for (int j = i / 3 * 3; j <= i; ++j) {
      map[static_cast<size_t>(i * 6 + j)] = i < 3 ? 1.0f : 2.0f;
    }
  }
  return map;
}

SpanTokenRule rule_of(int most, float lambda) {
  SpanTokenRule rule;
  rule.theta = 0.43f;  // nine of 21 entries are low: the threshold is above those and below one
  rule.phi = 0.1f;
  rule.spans = 2;
  rule.most = most;
  rule.lambda = lambda;
  return rule;
}

std::vector<int32_t> tokens_of(const SpanTokens& tokens, int64_t block = 0) {
  const auto of = tokens.of(block).tokens;
  return {of.begin(), of.end()};
}
std::vector<int32_t> ends_of(const SpanTokens& tokens, int64_t block = 0) {
  const auto of = tokens.of(block).ends;
  return {of.begin(), of.end()};
}

TEST(SpanTokens, AreThoseOfEachSpanWithMostVotesOfAllHeads) {
  const std::vector<float> map = two_triangles();
  const std::vector<float> votes{0, 1, 5, 5, 6, 5,  // [6 tokens, 2 heads]
                                 3, 3, 1, 9, 8, 0};
  SpanTokens tokens;
  const DividedTokens block{6, 6, view_of(map), view_of(votes)};
  choose_span_tokens(host_queue(), block, rule_of(2, 0), tokens);
  EXPECT_EQ(tokens_of(tokens), (std::vector<int32_t>{4, 5, 1, 2}));  // the better span comes first
  EXPECT_EQ(ends_of(tokens), (std::vector<int32_t>{2, 4}));
  choose_span_tokens(host_queue(), block, rule_of(9, 0), tokens);
  EXPECT_EQ(tokens_of(tokens), (std::vector<int32_t>{3, 4, 5, 0, 1, 2}));
}

TEST(SpanTokens, AreFewerWhereNeighboursKnowTheSpan) {
  std::vector<float> map = two_triangles();
  for (int i = 3; i < 6; ++i) {  // the second span's rows attend to the first span
    for (int j = 0; j < 3; ++j) map[static_cast<size_t>(i * 6 + j)] = 1.9f;
  }
  SpanTokens tokens;
  SpanTokenRule rule = rule_of(9, 20);
  rule.theta = 0.6f;
  choose_span_tokens(host_queue(), {6, 6, view_of(map), {}}, rule, tokens);
  ASSERT_FALSE(ends_of(tokens).empty());
  EXPECT_EQ(ends_of(tokens).front(), 1);
}

TEST(SpanTokens, OwnVotesAreWhatTheBlockPaysThem) {
  std::vector<float> map = two_triangles();
  map[1 * 6 + 1] = 2.5f;  // token 1 gets most attention within its span, token 5 from itself
  map[5 * 6 + 5] = 9;
  map[0 * 6 + 5] = 99;  // above the diagonal
  SpanTokens tokens;
  choose_span_tokens(host_queue(), {6, 6, view_of(map), {}}, rule_of(1, 0), tokens);
  EXPECT_EQ(tokens_of(tokens), (std::vector<int32_t>{5, 1}));
}

TEST(SpanTokens, OfSeveralBlocksAreThoseOfEach) {
  // Two blocks of 6 tokens, and one of 3 tokens that is one triangle.
  const std::vector<float> map = two_triangles();
  std::vector<float> maps(map);
  maps.insert(maps.end(), map.begin(), map.end());
  maps.insert(maps.end(), map.begin(), map.begin() + 18);
  for (size_t i = 3; i < 6; ++i) maps[12 * 6 + 2 * 6 + i] = 50;  // above the short block's diagonal
  SpanTokens all, one, last;
  const SpanTokenRule rule = rule_of(2, 0);
  choose_span_tokens(host_queue(), {15, 6, view_of(maps), {}}, rule, all);
  choose_span_tokens(host_queue(), {6, 6, view_of(map), {}}, rule, one);
  std::vector<float> triangle;
  for (size_t i = 0; i < 9; ++i) triangle.push_back(map[i / 3 * 6 + i % 3]);
  choose_span_tokens(host_queue(), {3, 3, view_of(triangle), {}}, rule, last);
  ASSERT_EQ(all.blocks(), 3);
  for (const int64_t b : {0, 1}) EXPECT_EQ(tokens_of(all, b), tokens_of(one));
  EXPECT_EQ(tokens_of(all, 2), tokens_of(last));
  EXPECT_EQ(ends_of(all, 2), ends_of(last));
}

SpanTokens three_tokens() {
  SpanTokens tokens;
  tokens.resize(host_queue(), 1, 2, 2);
  const std::vector<int32_t> record{2, 2, 3, 2, 0, 7, 0};
  std::copy(record.begin(), record.end(), host(tokens.numbers()).begin());
  return tokens;
}

TEST(SpanKeys, AreTheStoredRowsOfAllLists) {
  for (const DType type : {DType::F32, DType::BF16, DType::F16, DType::Q8_0, DType::Q4_0}) {
    std::mt19937 random(5);
    const PagedHead a(type, 32, 80, random), b(type, 32, 80, random);
    const PagedRows lists[] = {a.view(), b.view()};
    Array<float> memory;
    const View<float> keys = gather_span_keys(host_queue(), lists, 30, 8, three_tokens(), memory);
    ASSERT_EQ(keys.size(), 4 * 64);
    for (const float x : host(keys.from(3 * 64))) EXPECT_EQ(x, 0);
    const int rows[] = {32, 30, 37};  // in two pages
    for (int64_t i = 0; i < 3; ++i) {
      const std::span<const float> key = host(keys.part(i * 64, 64));
      for (size_t t = 0; t < 32; ++t) {
        const size_t row = static_cast<size_t>(rows[i]);
        EXPECT_EQ(key[t], a.k[row][t]) << i;
        EXPECT_EQ(key[32 + t], b.k[row][t]) << i;
      }
    }
  }
}

struct Queries {
  explicit Queries(int head, bool sum_of_span) : q(10 * 4 * 2) {
    std::iota(q.begin(), q.end(), 0.0f);
    call.q = view_of(q);
    call.heads = 4;
    call.kv_heads = 2;
    call.head_dim = 2;
    call.head = head;
    call.sum_of_span = sum_of_span;
  }
  /// Element t of head h in a row.
  static float at(int row, int h, int t) { return static_cast<float>((row * 4 + h) * 2 + t); }
  std::vector<float> numbers() const {
    const std::span<const float> all = list.vectors();
    return {all.begin(), all.end()};
  }
  std::vector<float> q;
  SpanQueries call;
  VectorList list;
};

TEST(SpanQueriesTest, OfARetrievalHeadAreItsOwn) {
  Queries x(3, false);
  set_row_queries(host_queue(), x.call, 4, 6, x.list);
  EXPECT_EQ(x.numbers(),
            (std::vector<float>{x.at(4, 3, 0), x.at(4, 3, 1), x.at(5, 3, 0), x.at(5, 3, 1)}));
}

TEST(SpanQueriesTest, OfAllHeadsAreSumsOfThoseThatShareKeys) {
  Queries x(-1, false);
  set_row_queries(host_queue(), x.call, 7, 8, x.list);
  std::vector<float> want;
  for (const int list : {0, 2}) {
    for (const int t : {0, 1}) want.push_back(x.at(7, list, t) + x.at(7, list + 1, t));
  }
  EXPECT_EQ(x.numbers(), want);
}

TEST(SpanQueriesTest, OfASpanAreKeptOrSummed) {
  Queries each(1, false), sums(1, true);
  for (Queries* x : {&each, &sums}) {
    set_span_queries(host_queue(), x->call, 8, three_tokens(), {0, three_tokens().blocks()},
                     x->list);
  }
  const auto at = [](int row, int t) { return Queries::at(row, 1, t); };
  EXPECT_EQ(each.numbers(),
            (std::vector<float>{at(2, 0), at(2, 1), at(0, 0), at(0, 1), at(7, 0), at(7, 1)}));
  EXPECT_EQ(sums.numbers(),
            (std::vector<float>{at(2, 0) + at(0, 0), at(2, 1) + at(0, 1), at(7, 0), at(7, 1)}));
}

}  // namespace
}  // namespace longhaul
