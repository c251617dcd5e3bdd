// RoCo's scores as a GPU computes them, by a loop in place of threads.

#include "attention/methods/roco/steady_phases.h"

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

TEST(SteadyPhases, ScoreAsTheHostDoes) {
  std::mt19937 random(2);
  MethodDevice device;
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

}  // namespace
}  // namespace longhaul
