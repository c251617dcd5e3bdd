#include "ops/maps/top_keys.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::view_of;

struct TopKeyCase {
  KvType type;
  int head_dim, group, rows;
  int64_t begin, keys;
  int k;
};

/// Two KV heads. Integer queries would tie too often, so queries are random. With `whole` all
/// values are small integers: products are exact in any precision, and ties are frequent.
struct TopKeySetting {
  TopKeySetting(const TopKeyCase& c, AttendCompute compute, TopRule rule, bool whole)
      : test_case(c) {
    std::mt19937 random(29);
    std::normal_distribution<float> normal;
    for (int h = 0; h < 2; ++h) {
      heads.emplace_back(c.type, c.head_dim, c.begin + c.keys + 3, random);
      if (whole) make_whole(heads.back(), random);
    }
    queries.resize(static_cast<size_t>(c.rows * 2 * c.group * c.head_dim));
    for (float& x : queries) {
      x = whole ? static_cast<float>(random() % 3) - 1.0f
                : bf16_to_f32(f32_to_bf16(normal(random)));
    }
    keys.assign(static_cast<size_t>(c.rows * 2 * c.group * c.k), -7);
    scores.assign(keys.size(), NAN);
    call.queries = view_of(queries);
    call.heads = 2 * c.group;
    call.head_dim = c.head_dim;
    call.k = c.k;
    call.rule = rule;
    call.compute = compute;
    call.keys = view_of(keys);
    call.scores = view_of(scores);
    for (int h = 0; h < 2; ++h) {
      tasks.push_back(
          {h * c.group, c.group, 0, c.rows, heads[static_cast<size_t>(h)].view(), c.begin, c.keys});
    }
  }

  static void make_whole(PagedHead& head, std::mt19937& random) {
    for (size_t r = 0; r < head.k.size(); ++r) {
      for (float& x : head.k[r]) x = static_cast<float>(random() % 3) - 1.0f;
      if (head.type == DType::Q8_0) {
        for (float& x : head.k[r]) x *= 0.02f;
      }
      PagedHead::encode(head.type.k, true, head.k[r], head.at(r, false));
    }
  }

  double score(int row, int head, int64_t key) const {
    const auto& k = heads[static_cast<size_t>(head / test_case.group)]
                        .k[static_cast<size_t>(test_case.begin + key)];
    const float* q = queries.data() + (row * call.heads + head) * test_case.head_dim;
    double dot = 0;
    for (size_t t = 0; t < k.size(); ++t) dot += static_cast<double>(q[t]) * k[t];
    return dot;
  }

  /// Candidate keys, best first.
  std::vector<std::pair<double, int64_t>> candidates(int row, int head) const {
    std::vector<std::pair<double, int64_t>> all;  // (-score, key) sorts by the rule
    for (int64_t j = 0; j < test_case.keys; ++j) {
      const std::pair<double, int64_t> key{-score(row, head, j), j};
      if (call.rule == TopRule::kExact || j % kTopTile == 0) {
        all.push_back(key);
      } else {
        all.back() = std::min(all.back(), key);
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  TopKeyCase test_case;
  std::vector<PagedHead> heads;
  std::vector<float> queries, scores;
  std::vector<int32_t> keys;
  std::vector<TopKeysTask> tasks;
  TopKeysCall call;
};

void check_top_keys(const TopKeyCase& c, AttendCompute compute, TopRule rule, bool whole) {
  SCOPED_TRACE(testing::Message() << name_of(c.type) << " dim " << c.head_dim << " group "
                                  << c.group << " rows " << c.rows << " keys " << c.keys << " k "
                                  << c.k << (whole ? " whole" : ""));
  TopKeySetting s(c, compute, rule, whole);
  top_keys(s.call, s.tasks);
  for (int row = 0; row < c.rows; ++row) {
    for (int head = 0; head < s.call.heads; ++head) {
      const auto want = s.candidates(row, head);
      for (int i = 0; i < c.k; ++i) {
        const size_t at = static_cast<size_t>((row * s.call.heads + head) * c.k + i);
        if (static_cast<size_t>(i) >= want.size()) {
          ASSERT_EQ(s.keys[at], -1);
          continue;
        }
        const auto& [negative, key] = want[static_cast<size_t>(i)];
        // Queries are bf16 values. Some products round keys of other types to bf16.
        const double allowed = whole ? 1e-3 : c.type.k == DType::BF16 ? 1e-4 : 0.15;
        ASSERT_NEAR(s.scores[at], -negative, allowed) << "row " << row << " head " << head;
        if (whole || c.type.k == DType::BF16) {
          ASSERT_EQ(s.keys[at], key) << "row " << row << " head " << head << " place " << i;
        } else {
          ASSERT_NEAR(s.score(row, head, s.keys[at]), -negative, allowed);
        }
      }
    }
  }
}

TEST(TopKeys, AreThoseOfAPlainLoopForEveryTypeAndSize) {
  const std::vector<TopKeyCase> cases = {
      {DType::BF16, 64, 2, 1, 5, 300, 4},  {DType::BF16, 64, 3, 40, 32, 700, 4},
      {DType::F32, 64, 1, 9, 0, 129, 8},   {DType::F16, 80, 4, 2, 1, 127, 3},
      {DType::F16, 24, 1, 1, 7, 640, 1},   {DType::Q8_0, 64, 2, 33, 3, 257, 4},
      {DType::Q8_0, 32, 8, 1, 64, 500, 2}, {DType::F32, 8, 3, 1, 2, 5, 8},
      {DType::BF16, 128, 1, 50, 0, 1, 4},  {DType::BF16, 40, 10, 1, 9, 2000, 4},
      {DType::F32, 40, 1, 400, 0, 260, 2}, {DType::BF16, 64, 2, 5, 0, 0, 4},
      {DType::BF16, 128, 2, 2, 7, 500, 4}, {DType::BF16, 96, 5, 1, 1, 150, 4},
      {DType::BF16, 160, 1, 3, 0, 200, 4}, {DType::Q4_0, 64, 2, 33, 3, 257, 4},
      {DType::Q4_0, 96, 4, 1, 64, 500, 2}, {{DType::BF16, DType::Q4_0}, 64, 2, 1, 5, 300, 4},
  };
  at_every_isa([&] {
    for (const TopKeyCase& c : cases) {
      for (const auto compute : {AttendCompute::kBest, AttendCompute::kF32}) {
        for (const TopRule rule : {TopRule::kExact, TopRule::kTile}) {
          check_top_keys(c, compute, rule, false);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST(TopKeys, OfEqualScoresTheLowerKeyWins) {
  const std::vector<TopKeyCase> cases = {
      {DType::BF16, 32, 2, 1, 3, 1500, 8}, {DType::BF16, 32, 2, 70, 3, 1500, 8},
      {DType::F32, 8, 1, 40, 0, 700, 5},   {DType::F16, 16, 3, 2, 1, 650, 4},
      {DType::Q8_0, 32, 2, 20, 0, 400, 4},
  };
  at_every_isa([&] {
    for (const TopKeyCase& c : cases) {
      for (const TopRule rule : {TopRule::kExact, TopRule::kTile}) {
        check_top_keys(c, AttendCompute::kBest, rule, true);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TEST(TopKeys, DoNotDependOnHowRowsAreDealtOut) {
  // One row at a time (streamed) equals all rows at once (tiles) if products are exact.
  const TopKeyCase c{DType::BF16, 32, 3, 50, 7, 900, 4};
  TopKeySetting together(c, AttendCompute::kBest, TopRule::kTile, true);
  TopKeySetting one_by_one(c, AttendCompute::kBest, TopRule::kTile, true);
  top_keys(together.call, together.tasks);
  for (const TopKeysTask& task : one_by_one.tasks) {
    for (int row = 0; row < c.rows; ++row) {
      TopKeysTask single = task;
      single.row_begin = row;
      single.row_count = 1;
      top_keys(one_by_one.call, {&single, 1});
    }
  }
  EXPECT_EQ(together.keys, one_by_one.keys);
  EXPECT_EQ(together.scores, one_by_one.scores);
}

TEST(TopKeys, NeedNoScoresAndNoTasks) {
  const TopKeyCase c{DType::BF16, 32, 1, 12, 0, 300, 4};
  TopKeySetting with(c, AttendCompute::kBest, TopRule::kExact, true);
  TopKeySetting without(c, AttendCompute::kBest, TopRule::kExact, true);
  without.call.scores = {};
  top_keys(with.call, with.tasks);
  top_keys(without.call, {});
  EXPECT_EQ(without.keys[0], -7);
  top_keys(without.call, without.tasks);
  EXPECT_EQ(without.keys, with.keys);
}

}  // namespace
}  // namespace longhaul
