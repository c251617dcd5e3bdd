// The best logits of rows on a GPU compared with the host.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ops/core/best_logits.h"
#include "ops/core/devices.h"

namespace longhaul {
namespace {

struct RulesOfRow {
  std::vector<int32_t> repeated;
  std::vector<LogitBias> biases;
  std::vector<uint64_t> mask;
};

/// Rules of every kind, of which rows have none, some or all.
RulesOfRow rules_of_row(int64_t row, int64_t n, std::mt19937& random) {
  RulesOfRow rules;
  const auto below = [&](int64_t m) {
    return static_cast<int32_t>(random() % static_cast<uint32_t>(m));
  };
  if (row % 2 == 1) rules.repeated = {below(n), static_cast<int32_t>(n) + 5};
  if (row % 3 == 1) rules.biases = {{below(n), 3}, {-1, 1}};
  if (row % 3 == 2 && !rules.repeated.empty()) rules.biases = {{rules.repeated.front(), -2}};
  if (row % 4 == 3) {
    rules.mask.resize(static_cast<size_t>((n + 63) / 64 - (n > 300 ? 1 : 0)));
    for (uint64_t& word : rules.mask) word = uint64_t{random()} << 32 | random();
  }
  return rules;
}

std::vector<float> logits_of_rows(int64_t rows, int64_t n, std::mt19937& random) {
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> logits(static_cast<size_t>(rows * n));
  for (float& logit : logits) logit = std::round(normal(random) * 16) / 16;  // with ties
  logits[0] = NAN;
  if (rows > 3) std::fill_n(logits.begin() + 2 * n, n, -INFINITY);
  if (rows > 4) logits[static_cast<size_t>(4 * n + n / 2)] = INFINITY;
  return logits;
}

void compare_places(const Queue& queue, int64_t rows, int64_t n, int k) {
  std::mt19937 random(static_cast<uint32_t>(rows * n + k));
  std::vector<float> logits = logits_of_rows(rows, n, random);
  std::vector<RulesOfRow> own;
  std::vector<LogitRules> rules;
  for (int64_t r = 0; r < rows; ++r) own.push_back(rules_of_row(r, n, random));
  for (const RulesOfRow& each : own) rules.push_back({1.5f, each.repeated, each.biases, each.mask});
  const auto count = static_cast<size_t>(rows);
  std::vector<BestLogit> expected(count * static_cast<size_t>(k)), got(expected.size());
  std::vector<LogitSums> sums(count), got_sums(count);
  Array<float> there;
  Queue on = queue;
  const View<float> copy = there.resize(on, rows * n);
  queue.device().upload(logits.data(), copy.address(), logits.size() * sizeof(float));
  best_logits(host_queue(), {logits.data(), rows * n}, rules, k, expected, sums);
  best_logits(on, copy, rules, k, got, got_sums);
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].token, expected[i].token) << rows << " x " << n << ", value " << i;
    ASSERT_EQ(got[i].logit, expected[i].logit) << rows << " x " << n << ", value " << i;
  }
  for (size_t r = 0; r < count; ++r) {
    ASSERT_EQ(got_sums[r].not_finite, sums[r].not_finite) << "row " << r;
    if (!std::isfinite(sums[r].log_sum_exp)) {
      ASSERT_EQ(got_sums[r].log_sum_exp, sums[r].log_sum_exp) << "row " << r;
    } else {
      ASSERT_NEAR(got_sums[r].log_sum_exp, sums[r].log_sum_exp,
                  1e-5 * std::abs(sums[r].log_sum_exp) + 1e-4)
          << "row " << r;
    }
  }
}

TEST(BestLogitsOnTheGpu, EqualThoseOfTheHost) {
  const Queue queue = open_device("cuda");
  for (const int64_t n : {1, 50, 4096, 4097, 49152, 128256}) {
    for (const int64_t rows : {1, 5, 64}) {
      for (const int k : {1, 40, 64}) compare_places(queue, rows, n, k);
    }
  }
}

}  // namespace
}  // namespace longhaul
