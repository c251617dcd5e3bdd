#include "ops/span_vectors.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::view_of;

constexpr float kLow = 0.01f;

/// Tokens 0 to 2 and 3 to 5 attend to themselves only, the second triangle more.
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
  rule.theta = 0.43f;  // nine of 21 entries are low: above those, below one
  rule.phi = 0.1f;
  rule.spans = 2;
  rule.most = most;
  rule.lambda = lambda;
  return rule;
}

TEST(SpanTokens, AreThoseOfEachSpanWithMostVotesOfAllHeads) {
  const std::vector<float> map = two_triangles();
  const std::vector<float> votes{0, 1, 5, 5, 6, 5,  // [6 tokens, 2 heads]
                                 3, 3, 1, 9, 8, 0};
  SpanTokens tokens;
  choose_span_tokens(host_queue(), view_of(map), 6, view_of(votes), rule_of(2, 0), tokens);
  EXPECT_EQ(tokens.tokens, (std::vector<int32_t>{4, 5, 1, 2}));  // the better span first
  EXPECT_EQ(tokens.span_ends, (std::vector<int32_t>{2, 4}));
  choose_span_tokens(host_queue(), view_of(map), 6, view_of(votes), rule_of(9, 0), tokens);
  EXPECT_EQ(tokens.tokens, (std::vector<int32_t>{3, 4, 5, 0, 1, 2}));
}

TEST(SpanTokens, AreFewerWhereNeighboursKnowTheSpan) {
  std::vector<float> map = two_triangles();
  for (int i = 3; i < 6; ++i) {  // the second span's rows look at the first
    for (int j = 0; j < 3; ++j) map[static_cast<size_t>(i * 6 + j)] = 1.9f;
  }
  SpanTokens tokens;
  SpanTokenRule rule = rule_of(9, 20);
  rule.theta = 0.6f;
  choose_span_tokens(host_queue(), view_of(map), 6, rule, tokens);
  ASSERT_FALSE(tokens.span_ends.empty());
  EXPECT_EQ(tokens.span_ends.front(), 1);
}

TEST(SpanTokens, OwnVotesAreWhatTheBlockPaysThem) {
  std::vector<float> map = two_triangles();
  map[1 * 6 + 1] = 2.5f;  // token 1 is looked at most by its span, and token 5 by itself
  map[5 * 6 + 5] = 9;
  map[0 * 6 + 5] = 99;  // above the diagonal
  SpanTokens tokens;
  choose_span_tokens(host_queue(), view_of(map), 6, rule_of(1, 0), tokens);
  ASSERT_EQ(tokens.tokens.size(), 2u);
  EXPECT_EQ(tokens.tokens[0], 5);
  EXPECT_EQ(tokens.tokens[1], 1);
}

SpanTokens three_tokens() {
  SpanTokens tokens;
  tokens.tokens = {2, 0, 7};
  tokens.span_ends = {2, 3};
  return tokens;
}

TEST(SpanKeys, AreTheStoredRowsOfAllLists) {
  for (const DType type : {DType::F32, DType::BF16, DType::F16, DType::Q8_0}) {
    std::mt19937 random(5);
    const PagedHead a(type, 32, 80, random), b(type, 32, 80, random);
    const PagedRows lists[] = {a.view(), b.view()};
    VectorList keys;
    gather_span_keys(host_queue(), lists, 30, three_tokens(), keys);
    ASSERT_EQ(keys.count(), 3);
    ASSERT_EQ(keys.width(), 64);
    const int rows[] = {32, 30, 37};  // in two pages
    for (int64_t i = 0; i < 3; ++i) {
      const std::span<const float> key = host(keys.part(i, 1));
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
    list.clear(call.width());
  }
  /// Element t of head h of a row.
  static float at(int row, int h, int t) { return static_cast<float>((row * 4 + h) * 2 + t); }
  std::vector<float> numbers() const {
    const std::span<const float> all = host(list.view());
    return {all.begin(), all.end()};
  }
  std::vector<float> q;
  SpanQueries call;
  VectorList list;
};

TEST(SpanQueriesTest, OfARetrievalHeadAreItsOwn) {
  Queries x(3, false);
  add_row_queries(host_queue(), x.call, 4, 6, x.list);
  EXPECT_EQ(x.numbers(),
            (std::vector<float>{x.at(4, 3, 0), x.at(4, 3, 1), x.at(5, 3, 0), x.at(5, 3, 1)}));
}

TEST(SpanQueriesTest, OfAllHeadsAreSumsOfThoseThatShareKeys) {
  Queries x(-1, false);
  add_row_queries(host_queue(), x.call, 7, 8, x.list);
  std::vector<float> want;
  for (const int list : {0, 2}) {
    for (const int t : {0, 1}) want.push_back(x.at(7, list, t) + x.at(7, list + 1, t));
  }
  EXPECT_EQ(x.numbers(), want);
}

TEST(SpanQueriesTest, OfASpanAreKeptOrSummed) {
  Queries each(1, false), sums(1, true);
  for (Queries* x : {&each, &sums}) {
    add_span_queries(host_queue(), x->call, 2, three_tokens(), x->list);
  }
  const auto at = [](int row, int t) { return Queries::at(row, 1, t); };
  EXPECT_EQ(each.numbers(),
            (std::vector<float>{at(4, 0), at(4, 1), at(2, 0), at(2, 1), at(9, 0), at(9, 1)}));
  EXPECT_EQ(sums.numbers(),
            (std::vector<float>{at(4, 0) + at(2, 0), at(4, 1) + at(2, 1), at(9, 0), at(9, 1)}));
}

}  // namespace
}  // namespace longhaul
