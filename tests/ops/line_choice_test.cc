#include "ops/choose/line_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

/// The `count` best of `scores` in ascending order, including the first `forced`, found by sorting.
std::vector<int32_t> best_by_sorting(std::vector<float> scores, size_t forced, size_t count) {
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) scores[i] = -INFINITY;
    if (i < forced) scores[i] = INFINITY;
  }
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  order.resize(std::min(order.size(), std::max(forced, count)));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<int32_t> listed(const RowList& rows) {
  return {host_rows(rows).begin(), host_rows(rows).end()};
}

TEST(LineChoice, TheBestLinesAndTheForcedOnes) {
  std::mt19937 random(8);
  LineChoice chosen[3];  // reused
  for (const size_t keys : {1u, 29u, 31u, 99u, 101u, 777u}) {
    std::vector<float> lines[6];
    std::vector<LineTask> tasks;
    const int64_t counts[3][2] = {{0, 0}, {37, 102}, {5000, 400}};
    for (size_t t = 0; t < 3; ++t) {
      for (auto* line : {&lines[2 * t], &lines[2 * t + 1]}) {
        for (size_t i = 0; i < keys; ++i) {
          line->push_back(random() % 9 == 0 ? NAN : static_cast<float>(random() % 40));
        }
      }
      tasks.push_back({view_of(lines[2 * t]), view_of(lines[2 * t + 1]), counts[t][0], counts[t][1],
                       &chosen[t]});
    }
    choose_lines(host_queue(), tasks, 64);
    for (size_t t = 0; t < 3; ++t) {
      EXPECT_EQ(listed(chosen[t].columns),
                best_by_sorting(lines[2 * t], 30, static_cast<size_t>(counts[t][0])))
          << keys;
      // Runs join neighbours at most a tile apart; far runs come first.
      const auto distances =
          best_by_sorting(lines[2 * t + 1], 100, static_cast<size_t>(counts[t][1]));
      std::vector<int32_t> want;
      for (size_t i = distances.size(); i-- > 0;) {
        const bool apart = i + 1 == distances.size() || distances[i + 1] - distances[i] > 64;
        if (apart) want.push_back(distances[i]);
        const bool ends = i == 0 || distances[i] - distances[i - 1] > 64;
        if (ends) want.push_back(distances[i]);
      }
      const size_t count = static_cast<size_t>(host(chosen[t].run_count.view())[0]);
      const auto runs = host(chosen[t].runs.view()).first(2 * count);
      EXPECT_EQ(std::vector<int32_t>(runs.begin(), runs.end()), want) << keys;
      EXPECT_EQ(runs.back(), 0);
    }
  }
}

}  // namespace
}  // namespace longhaul
