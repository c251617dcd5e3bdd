#include "attention/methods/roco/steady_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;
using SteadyNumbers = std::vector<float>;

constexpr float kLeftAlone = std::numeric_limits<float>::infinity();

TEST(AddSeen, RowsSeeWhatIsBeforeThemAndThemselves) {
  for (const size_t length : {0u, 1u, 63u, 64u, 65u}) {
    for (const size_t rows : {size_t{0}, size_t{1}, length / 2, length}) {
      if (rows > length) continue;
      SteadyNumbers seen(length, 0.5f);
      const View<float> column = view_of(seen);
      add_seen(host_queue(), static_cast<int64_t>(rows), {&column, 1});
      for (size_t i = 0; i < length; ++i) {
        float want = 0.5f;
        for (size_t row = length - rows; row < length; ++row) want += i <= row ? 1.0f : 0.0f;
        EXPECT_EQ(seen[i], want) << "row " << i << " of " << length << ", " << rows << " new";
      }
    }
  }
}

SteadyNumbers judge(const SteadyNumbers& sums, const SteadyNumbers& squares,
                    const SteadyNumbers& seen, const SteadyRule& rule) {
  SteadyNumbers scores(sums.size(), NAN);
  Array<float> scratch;
  const SteadyList list{{view_of(sums), view_of(squares), view_of(seen)}, rule, view_of(scores)};
  steady_scores(host_queue(), {&list, 1}, scratch);
  return scores;
}

/// The feasible rows one by one: smallest variance first, and of equal ones the lower row.
SteadyNumbers plain_steady(const SteadyNumbers& sums, const SteadyNumbers& squares,
                           const SteadyNumbers& seen, const SteadyRule& rule) {
  const int64_t n = std::ssize(sums);
  SteadyNumbers scores(sums.size(), kLeftAlone);
  std::vector<std::pair<float, size_t>> rows;  // standard deviation
  for (int64_t row = rule.sink; row < n - rule.settling; ++row) {
    const auto i = static_cast<size_t>(row);
    const double mean = sums[i] / seen[i], variance = squares[i] / seen[i] - mean * mean;
    const double rounding = (16 + 2 * double{seen[i]}) * 0x1p-24 * mean * mean;
    const auto deviation = static_cast<float>(std::sqrt(variance));
    rows.push_back({variance < rounding     ? 0.0f
                    : std::isnan(deviation) ? kLeftAlone
                                            : deviation,
                    i});
  }
  std::sort(rows.begin(), rows.end());
  for (size_t r = 0; r < rows.size() && r < static_cast<size_t>(rule.feasible); ++r) {
    scores[rows[r].second] = sums[rows[r].second] / seen[rows[r].second];
  }
  return scores;
}

TEST(SteadyScores, EqualAPlainLoop) {
  std::mt19937 random(10);
  for (const size_t n : {1u, 63u, 64u, 65u, 300u}) {
    for (int round = 0; round < 60; ++round) {
      SteadyNumbers sums(n), squares(n), seen(n);
      for (size_t i = 0; i < n; ++i) {
        seen[i] = static_cast<float>(1 + random() % 50);
        // Equal values: variance zero, with ties.
        const float each = static_cast<float>(random() % 4) / 4;
        sums[i] = each * seen[i];
        squares[i] = each * each * seen[i] + static_cast<float>(random() % 3);
        if (random() % 30 == 0) sums[i] = NAN;
      }
      SteadyRule rule;
      rule.sink = static_cast<int64_t>(random() % (n / 4 + 1));
      rule.settling = static_cast<int64_t>(random() % (n / 4 + 1));
      rule.feasible = static_cast<int64_t>(random() % (n + 1));
      const SteadyNumbers got = judge(sums, squares, seen, rule);
      const SteadyNumbers want = plain_steady(sums, squares, seen, rule);
      for (size_t i = 0; i < n; ++i) {
        if (std::isnan(want[i])) {
          ASSERT_TRUE(std::isnan(got[i])) << i;
        } else {
          ASSERT_EQ(got[i], want[i]) << "row " << i << " of " << n << ", round " << round;
        }
      }
    }
  }
}

TEST(SteadyScores, LeaveAloneWhatVariesAndTheEnds) {
  // Rows 0 and 5 are ends. Row 2 received very uneven attention.
  const SteadyNumbers sums{9, 2, 2, 1, 4, 9}, squares{81, 1, 4, 0.25f, 4, 81},
      seen{4, 4, 4, 4, 4, 4};
  SteadyRule rule;
  rule.sink = rule.settling = 1;
  rule.feasible = 3;
  EXPECT_EQ(judge(sums, squares, seen, rule),
            (SteadyNumbers{kLeftAlone, 0.5f, kLeftAlone, 0.25f, 1.0f, kLeftAlone}));
}

}  // namespace
}  // namespace longhaul
