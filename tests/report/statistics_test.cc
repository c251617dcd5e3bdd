// Compared with values of scipy and statsmodels (tools/make_statistics_goldens.py).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report/statistics/distributions.h"
#include "report/statistics/estimate.h"
#include "report/statistics/paired.h"
#include "report/statistics/sign_flip.h"
#include "text/json_file.h"

namespace longhaul {
namespace {

using Values = std::vector<double>;

class Statistics : public ::testing::Test {
 protected:
  const nlohmann::json golden_ =
      read_json_file(LONGHAUL_TEST_DATA "/goldens/statistics/statistics.json");
};

TEST_F(Statistics, IncompleteBetaAndStudentsT) {
  for (const auto& row : golden_["incomplete_beta"]) {
    EXPECT_NEAR(incomplete_beta(row[0], row[1], row[2]), row[3].get<double>(), 1e-12);
  }
  for (const auto& row : golden_["t_quantile"]) {
    const double p = row[0], degrees = row[1], t = row[2];
    EXPECT_NEAR(student_t_quantile(p, degrees) / t, 1, 1e-9);
    EXPECT_NEAR(student_t_quantile(1 - p, degrees) / -t, 1, 1e-9);
    EXPECT_NEAR(student_t_cdf(t, degrees), p, 1e-12);
  }
}

TEST_F(Statistics, WilsonIntervals) {
  for (const auto& row : golden_["wilson"]) {
    const Interval interval = wilson_interval(row[0], row[1]);
    EXPECT_NEAR(interval.low, row[2].get<double>(), 1e-12) << row;
    EXPECT_NEAR(interval.high, row[3].get<double>(), 1e-12) << row;
  }
}

TEST_F(Statistics, MeansOfSharesTakeStudentsT) {
  for (const auto& row : golden_["mean_t_interval"]) {
    const Values values = row["values"];
    const Estimate free = estimate_mean(values, false);
    EXPECT_NEAR(free.mean, row["mean"].get<double>(), 1e-12);
    EXPECT_NEAR(free.interval->low, row["low"].get<double>(), 1e-9);
    EXPECT_NEAR(free.interval->high, row["high"].get<double>(), 1e-9);
    const Estimate share = estimate_mean(values, true);
    EXPECT_GE(share.interval->low, 0);
    EXPECT_LE(share.interval->high, 1);
  }
}

TEST_F(Statistics, EstimatesOfFewValues) {
  EXPECT_FALSE(estimate_mean({}, true).interval.has_value());
  EXPECT_FALSE(estimate_mean(Values{0.5}, true).interval.has_value());
  EXPECT_FALSE(estimate_mean(Values{1}, false).interval.has_value());
  const Estimate one = estimate_mean(Values{1}, true);
  EXPECT_NEAR(one.interval->low, 0.2065, 1e-4);
  EXPECT_EQ(one.interval->high, 1);
}

/// Two columns of zeros and ones with these counts.
std::pair<Values, Values> columns(const nlohmann::json& row) {
  Values a, b;
  const int values[4][2] = {
      {1, 1}, {0, 1}, {1, 0}, {0, 0}};  // (a, b): both, only b, only a, neither
  for (int kind = 0; kind < 4; ++kind) {
    for (int i = 0; i < row[kind].get<int>(); ++i) {
      a.push_back(values[kind][0]);
      b.push_back(values[kind][1]);
    }
  }
  return {a, b};
}

TEST_F(Statistics, PairedZerosAndOnesAreMcNemars) {
  for (const auto& row : golden_["mcnemar"]) {
    const auto [a, b] = columns(row);
    const PairedDifference d = paired_difference(a, b);
    EXPECT_NEAR(d.p, row[4].get<double>(), 1e-12) << row;
    EXPECT_EQ(d.higher, row[1].get<int>());
    EXPECT_EQ(d.lower, row[2].get<int>());
    EXPECT_EQ(d.test, "McNemar, exact");
  }
}

TEST_F(Statistics, NewcombesIntervals) {
  for (const auto& row : golden_["newcombe"]) {
    const auto [a, b] = columns(row);
    const Interval interval = paired_difference(a, b).interval.value();
    EXPECT_NEAR(interval.low, row[4].get<double>(), 1e-12) << row;
    EXPECT_NEAR(interval.high, row[5].get<double>(), 1e-12) << row;
  }
  // The values in the paper's table II, first column, method 10.
  const Interval printed = newcombe_paired_interval(36, 12, 2, 0);
  EXPECT_NEAR(printed.low, 0.0569, 5e-5);
  EXPECT_NEAR(printed.high, 0.3404, 5e-5);
}

TEST_F(Statistics, OtherScoresAreFlippedAndResampled) {
  for (const auto& row : golden_["sign_flip"]) {
    const Values differences = row["differences"];
    const Values zeros(differences.size(), 0.0);
    const PairedDifference d = paired_difference(zeros, differences, 7);
    const bool exact = row["exact"];
    EXPECT_NEAR(d.p, row["p"].get<double>(), exact ? 1e-12 : 0.012);
    // Percentiles of 10,000 resamples compared with scipy's 100,000.
    const Interval interval = bootstrap_mean_interval(differences, 7);
    EXPECT_NEAR(interval.low, row["low"].get<double>(), 0.012);
    EXPECT_NEAR(interval.high, row["high"].get<double>(), 0.012);
    EXPECT_EQ(d.p, paired_difference(zeros, differences, 7).p);
    EXPECT_EQ(interval.low, bootstrap_mean_interval(differences, 7).low);
    if (differences.size() >= 10) {
      EXPECT_EQ(d.interval.value().low, interval.low);
    }
  }
}

/// Resampling of few pairs yields only these pairs. An interval of one pair would have no width.
TEST_F(Statistics, FewPairsAreNotResampled) {
  EXPECT_FALSE(paired_difference(Values{0.75}, Values{0.4}).interval.has_value());
  const Values a{0.2, 0.4, 0.3}, b{0.3, 0.6, 0.6}, differences{0.1, 0.2, 0.3};
  const Interval interval = paired_difference(a, b).interval.value();
  const Interval student = estimate_mean(differences, false).interval.value();
  EXPECT_NEAR(interval.low, student.low, 1e-12);
  EXPECT_NEAR(interval.high, student.high, 1e-12);
  const Interval wide = paired_difference(Values{0.9, 0.6}, Values{0, 0.5}).interval.value();
  EXPECT_EQ(wide.low, -1);
  EXPECT_EQ(wide.high, 1);
  EXPECT_NEAR(interval.low, 0.2 - 4.302653 * 0.1 / std::sqrt(3.0), 1e-6);
}

/// The p-value by enumeration of all signs.
double p_of_every_flip(const Values& differences) {
  const double observed = std::abs(std::accumulate(differences.begin(), differences.end(), 0.0));
  int64_t extreme = 0;
  for (uint64_t signs = 0; signs < uint64_t{1} << differences.size(); ++signs) {
    double sum = 0;
    for (size_t i = 0; i < differences.size(); ++i) {
      sum += (signs >> i & 1) != 0 ? -differences[i] : differences[i];
    }
    extreme += std::abs(sum) > observed - 1e-9 ? 1 : 0;
  }
  return std::ldexp(static_cast<double>(extreme), -static_cast<int>(differences.size()));
}

/// Irrational values, every third one negative.
Values uneven_differences(size_t count) {
  Values differences;
  for (size_t i = 0; i < count; ++i) {
    const double size = std::sqrt(static_cast<double>(i + 2)) / 10;
    differences.push_back(i % 3 == 0 ? -size : size);
  }
  return differences;
}

TEST(SignFlip, CountsEveryFlipOfFewPairs) {
  for (const size_t count : {1, 2, 7, 12, 19}) {
    const Values differences = uneven_differences(count);
    EXPECT_NEAR(sign_flip_p(differences), p_of_every_flip(differences), 1e-12) << count;
  }
  const Values ties{0.25, 0.25, -0.25, 0.5, 0, 0.1, -0.1, 0.3};
  EXPECT_NEAR(sign_flip_p(ties), p_of_every_flip({0.25, 0.25, -0.25, 0.5, 0.1, -0.1, 0.3}), 1e-12);
  EXPECT_EQ(sign_flip_p(Values{0.1, 0.2, -0.3}), 1);
}

TEST(SignFlip, IsExactForManyPairsOfACommonStep) {
  // With equal magnitudes this is a sign test.
  for (const int count : {33, 60, 200}) {
    for (const int lower : {0, 3, count / 3, count / 2}) {
      Values differences(static_cast<size_t>(count), 2.0 / 7);
      std::fill_n(differences.begin(), lower, -2.0 / 7);
      const double want = sign_test_p(lower, count);
      EXPECT_NEAR(sign_flip_p(differences) / want, 1, 1e-9) << count << " " << lower;
    }
  }
  // Sums of 40 halves and 40 wholes, counted by the numbers of both.
  Values differences(80, 0.5);
  std::fill_n(differences.begin(), 40, 1.0);
  differences[0] = -1;
  differences[79] = -0.5;
  // Lower side: at most 1.5, so (0 wholes, 0..3 halves) or (1 whole, 0..1 halves).
  const double subsets = 1 + 40 + 780 + 9880 + 40 * (1 + 40);
  EXPECT_NEAR(sign_flip_p(differences) / (2 * std::ldexp(subsets, -80)), 1, 1e-9);
}

TEST(SignFlip, RoundingChangesLittle) {
  // One more than the number of pairs whose subsets are enumerated. A pair of size 0.0001 has no
  // influence.
  for (const size_t count : {31, 32}) {
    Values differences = uneven_differences(count);
    const double listed = sign_flip_p(differences);
    for (int i = 0; i < 8; ++i) differences.push_back(1e-6 * std::sqrt(2.0 + i));
    EXPECT_NEAR(sign_flip_p(differences) / listed, 1, 0.01) << count;
  }
  // All differences have the same sign: no other signs are as extreme, for any number of pairs.
  Values one_way = uneven_differences(100);
  for (double& d : one_way) d = std::abs(d);
  EXPECT_NEAR(std::log2(sign_flip_p(one_way)), -99, 1e-9);
  EXPECT_GT(sign_flip_p(Values(3000, 0.123456789)), 0);
}

TEST(SignFlip, HasNoFloorThatHolmsCorrectionRunsInto) {
  // 25 pairs, all about 79 points lower, among 1,099 other comparisons.
  Values p(1100, 0.5);
  Values differences;
  for (int i = 0; i < 25; ++i) differences.push_back(-0.79 + 0.001 * std::sqrt(i));
  p[0] = sign_flip_p(differences);
  EXPECT_DOUBLE_EQ(p[0], std::ldexp(1.0, -24));
  EXPECT_LT(holm_adjusted(p)[0], 0.0001);
}

TEST_F(Statistics, NoDifferenceIsNoDifference) {
  const Values same{0.25, 0.5, 1, 0};
  const PairedDifference d = paired_difference(same, same);
  EXPECT_EQ(d.p, 1);
  EXPECT_EQ(d.difference, 0);
  EXPECT_EQ(d.interval.value().low, 0);
  EXPECT_EQ(d.interval.value().high, 0);
}

TEST_F(Statistics, HolmsCorrection) {
  for (const auto& row : golden_["holm"]) {
    const Values p = row["p"], adjusted = row["adjusted"];
    const Values mine = holm_adjusted(p);
    for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(mine[i], adjusted[i], 1e-12);
  }
  EXPECT_TRUE(holm_adjusted({}).empty());
}

}  // namespace
}  // namespace longhaul
