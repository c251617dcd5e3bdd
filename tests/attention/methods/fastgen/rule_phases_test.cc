// FastGen's rules as a GPU applies them, by a loop in place of threads.

#include "attention/methods/fastgen/rule_phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "attention/method_device.h"
#include "ops/row_numbers.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// Lists after evictions, judged with thresholds that make each rule the cheapest in turn.
TEST(RulePhases, JudgeAsTheHostDoes) {
  std::mt19937 random(4);
  MethodDevice device;
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
