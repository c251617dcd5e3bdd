// Against values of scipy and statsmodels (tools/make_statistics_goldens.py).

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/statistics/distributions.h"
#include "report/statistics/estimate.h"
#include "report/statistics/paired.h"
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
    const Interval interval = paired_difference(a, b).interval;
    EXPECT_NEAR(interval.low, row[4].get<double>(), 1e-12) << row;
    EXPECT_NEAR(interval.high, row[5].get<double>(), 1e-12) << row;
  }
  // As printed in the paper's table II, first column, method 10.
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
    // Percentiles of 10,000 resamples against scipy's 100,000.
    EXPECT_NEAR(d.interval.low, row["low"].get<double>(), 0.012);
    EXPECT_NEAR(d.interval.high, row["high"].get<double>(), 0.012);
    EXPECT_EQ(d.p, paired_difference(zeros, differences, 7).p);
    EXPECT_EQ(d.interval.low, paired_difference(zeros, differences, 7).interval.low);
  }
}

TEST_F(Statistics, NoDifferenceIsNoDifference) {
  const Values same{0.25, 0.5, 1, 0};
  const PairedDifference d = paired_difference(same, same);
  EXPECT_EQ(d.p, 1);
  EXPECT_EQ(d.difference, 0);
  EXPECT_EQ(d.interval.low, 0);
  EXPECT_EQ(d.interval.high, 0);
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
