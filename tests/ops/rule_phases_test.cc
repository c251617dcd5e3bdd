// The GPU's row rules, run by a loop in place of threads.

#include "ops/choose/rule_phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "ops/choosing_device.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::ChoosingDevice;
using testing_support::view_of;
using RuleNumbers = std::vector<float>;

/// Values with a normal distribution, with many ties, all equal, or including NaN.
RuleNumbers numbers_of_kind(int kind, int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  RuleNumbers numbers(static_cast<size_t>(count));
  for (float& x : numbers) {
    x = std::abs(normal(random));
    if (kind == 1) x = std::round(2 * x) / 4;
    if (kind == 2) x = 1;
    if (kind == 3 && random() % 3 == 0) x = NAN;
  }
  return numbers;
}

TEST(CutPhases, HoldTheBestAndOfEqualsTheLowerRows) {
  std::mt19937 random(1);
  const auto shared = std::make_unique<cuda::SelectShared>();
  for (const int64_t n : {1, 2, 65, 1024, 1025, 5000, 20000}) {
    for (int kind = 0; kind < 4; ++kind) {
      const RuleNumbers scores = numbers_of_kind(kind, n, random);
      std::vector<std::pair<uint32_t, int64_t>> order;
      for (int64_t i = 0; i < n; ++i) {
        order.push_back({~cuda::order_key(scores[static_cast<size_t>(i)]), i});
      }
      std::sort(order.begin(), order.end());
      for (const int64_t k : {int64_t{0}, int64_t{1}, n / 3, n - 1, n, n + 7}) {
        std::vector<int32_t> want;
        for (int64_t i = 0; i < std::min(k, n); ++i) {
          want.push_back(static_cast<int32_t>(100 + order[static_cast<size_t>(i)].second));
        }
        std::sort(want.begin(), want.end());
        const auto key = [&](int64_t i) { return cuda::order_key(scores[static_cast<size_t>(i)]); };
        const cuda::KeyCut cut = cuda::cut_after(cuda::HostBlock{}, *shared, n, k, key);
        std::vector<int32_t> got(want.size() + 1, -7);
        cuda::write_staying(cuda::HostBlock{}, *shared, n, 100, got.data(),
                            [&](int64_t i) { return cut.holds(key(i), i); });
        EXPECT_EQ(got.back(), -7);
        got.pop_back();
        EXPECT_EQ(got, want) << k << " of " << n << ", kind " << kind;
        EXPECT_EQ(shared->more, want.size());
      }
    }
  }
}

TEST(SteadyPhases, ScoreAsTheHostDoes) {
  std::mt19937 random(2);
  ChoosingDevice device;
  Array<float> scratch;
  for (const int64_t n : {1, 64, 1000, 3000}) {
    for (int kind = 0; kind < 4; ++kind) {
      RuleNumbers sums = numbers_of_kind(kind, n, random), squares = sums, seen = sums;
      for (size_t i = 0; i < sums.size(); ++i) {
        seen[i] = static_cast<float>(1 + random() % 50);
        squares[i] = sums[i] * sums[i] / seen[i] + static_cast<float>(random() % 3);
      }
      for (const int64_t feasible : {int64_t{0}, n / 4, n}) {
        const SteadyRule rule{.sink = n / 10, .settling = n / 7, .feasible = feasible};
        RuleNumbers here(sums.size(), -7), there = here;
        const AttentionSoFar got{view_of(sums), view_of(squares), view_of(seen)};
        const SteadyList host{got, rule, view_of(here)}, gpu{got, rule, view_of(there)};
        steady_scores(host_queue(), {&host, 1}, scratch);
        EXPECT_TRUE(device.steady_scores({&gpu, 1}));
        for (size_t i = 0; i < here.size(); ++i) {
          if (std::isnan(here[i]) && std::isnan(there[i])) continue;
          EXPECT_EQ(there[i], here[i]) << "row " << i << " of " << n << ", kind " << kind;
        }
      }
    }
  }
}

TEST(DealPhases, DealAsTheHostDoes) {
  std::mt19937 random(3);
  ChoosingDevice device;
  std::vector<RowSelection> selections(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<RuleNumbers> lists;
    std::vector<View<const float>> scores;
    int64_t rows = 0, between = 0, settled = 0;
    const int64_t longest = round % 10 == 0 ? 6000 : 150;
    for (int l = 0; l < 1 + round % 5; ++l) {
      lists.push_back(numbers_of_kind(round % 4, 1 + random() % longest, random));
    }
    RowsToKeep keep{static_cast<int64_t>(random() % 5), static_cast<int64_t>(random() % 20), 0};
    const auto sure = static_cast<int64_t>(random() % 30);
    for (const RuleNumbers& list : lists) {
      scores.push_back(view_of(list));
      const int64_t length = std::ssize(list);
      rows += length;
      between += std::max<int64_t>(0, length - keep.first - keep.last);
      settled += std::min(length, keep.first + keep.last + sure);
    }
    if (settled >= rows) continue;
    keep.count = settled + static_cast<int64_t>(random()) % (rows - settled);
    std::vector<RowList> kept(lists.size());
    select_rows_dealt(host_queue(), scores, keep, sure, std::span(selections).first(lists.size()),
                      kept, {});
    std::vector<int32_t> counts(lists.size(), -7);
    RuleNumbers scratch(static_cast<size_t>(between));
    std::vector<std::vector<int32_t>> got;
    std::vector<View<int32_t>> out;
    for (const RuleNumbers& list : lists) got.emplace_back(list.size(), -7);
    for (auto& each : got) out.push_back(view_of(each));
    EXPECT_TRUE(device.deal_rows({.scores = scores,
                                  .ends = keep,
                                  .sure = sure,
                                  .left = keep.count - settled,
                                  .scratch = view_of(scratch),
                                  .rows = out,
                                  .counts = view_of(counts)}));
    for (size_t l = 0; l < lists.size(); ++l) {
      const auto want = host_rows(kept[l]);
      ASSERT_EQ(counts[l], std::ssize(want)) << "round " << round << ", list " << l;
      got[l].resize(want.size());
      ASSERT_EQ(got[l], std::vector<int32_t>(want.begin(), want.end())) << "round " << round;
    }
  }
}

/// Lists after evictions, judged with thresholds that make each rule the cheapest in turn.
TEST(RulePhases, JudgeAsTheHostDoes) {
  std::mt19937 random(4);
  ChoosingDevice device;
  JudgedRows memory;
  std::vector<int> found(5);
  for (int round = 0; round < 300; ++round) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % (round % 10 == 0 ? 5000 : 300));
    const int64_t gone = random() % 2 == 0 ? 0 : 13, listed = random() % 2 == 0 ? 0 : rows / 2;
    std::vector<int32_t> tokens(static_cast<size_t>(gone == 0 ? 0 : listed));
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i + i * 13 / rows);
    std::vector<uint8_t> classes(static_cast<size_t>(rows + gone - rows / 9));
    for (uint8_t& each : classes) each = random() % 8 == 0 ? 1 + random() % 2 : 0;
    RuleNumbers attention = numbers_of_kind(round % 3, rows, random), recent = attention;
    double all = 0;
    for (size_t i = 0; i < attention.size(); ++i) {
      all += double{attention[i]};
      recent[i] *= static_cast<float>(random() % 3) / 2;
    }
    JudgedList list{.rows = rows,
                    .tokens = {view_of(tokens), gone},
                    .classes = view_of(classes),
                    .attention = view_of(attention),
                    .recent = view_of(recent),
                    .begin = static_cast<int64_t>(random()) % rows,
                    .end = rows + gone,
                    .heads = 1};
    HybridRules rules{.heavy = 0.2, .window = 0.25, .global = 2};
    // A share of the attention that is not near the borderline of a rule.
    const double share = 0.05 + 0.1 * static_cast<double>(round % 10) + 0.00137;
    rules.threshold = share * all / static_cast<double>(list.end - list.begin);
    const auto verdict = rules.judge(host_queue(), {&list, 1}, memory).front();
    ++found[static_cast<size_t>(verdict.rule)];
    std::vector<int32_t> told(2);
    device.judge_rules(rules, {&list, 1}, view_of(told));
    EXPECT_EQ(told[0], verdict.rule) << "round " << round;
    for (int rule = 0; rule < 4; ++rule) {
      list.rule = rule;
      const int64_t count = rules.judge(host_queue(), {&list, 1}, memory).front().rows;
      device.judge_rules(rules, {&list, 1}, view_of(told));
      ASSERT_EQ(told, (std::vector<int32_t>{rule, static_cast<int32_t>(count)}));
      const RowList want = rules.kept(host_queue(), {&list, 1}, {&count, 1}, memory).front();
      std::vector<int32_t> got(static_cast<size_t>(count));
      const View<int32_t> out = view_of(got);
      device.list_rules(rules, {&list, 1}, {&out, 1});
      const auto expected = host_rows(want);
      ASSERT_EQ(got, std::vector<int32_t>(expected.begin(), expected.end()))
          << "round " << round << ", rule " << rule;
    }
  }
  for (const int times : found) EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace longhaul
