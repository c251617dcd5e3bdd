// The random search for theta and phi compared with a plain loop over its trials, and lambda's
// table.

#include "calibrate/threshold_search.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace longhaul {
namespace {

constexpr int kSide = 32;

/// A map with mass on the diagonal and a triangle of tokens [begin, end) that attend to each other.
std::vector<float> map_with(int begin, int end, float noise) {
  std::vector<float> map(kSide * kSide, 0.0f);
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j <= i; ++j) {
      const bool inside = i >= begin && i < end && j >= begin;
      map[static_cast<size_t>(i * kSide + j)] =
          (inside ? 1.0f : 0.0f) + noise * static_cast<float>((i * 31 + j * 17) % 13) / 13;
    }
  }
  return map;
}

BlockMap map_of(const std::vector<float>& map) { return {map.data(), kSide, kSide}; }

ThresholdSearchSettings few_trials() {
  ThresholdSearchSettings settings;
  settings.trials = 40;
  settings.seed = 5;
  return settings;
}

/// Two blocks with evidence and one without, in layer 1 of 2.
ThresholdSearch searched(const ThresholdSearchSettings& settings) {
  ThresholdSearch search(2, settings);
  search.add(1, map_of(map_with(8, 20, 0.3f)), {8, 20, 0});
  search.add(1, map_of(map_with(3, 9, 0.3f)), {4, 10, 0});
  search.add(1, map_of(map_with(0, 30, 0.5f)), {});
  return search;
}

TEST(ThresholdSearch, F1IsThatOfTheTokens) {
  EXPECT_DOUBLE_EQ(span_f1({2, 6, 0}, {2, 6, 0}), 1);
  EXPECT_DOUBLE_EQ(span_f1({0, 8, 0}, {4, 8, 0}), 2.0 / 3);
  EXPECT_DOUBLE_EQ(span_f1({0, 4, 0}, {4, 8, 0}), 0);
}

TEST(ThresholdSearch, TriesWhatThePaperTriesAndItsUsualValuesFirst) {
  const ThresholdSearch search(3, few_trials());
  EXPECT_EQ(search.trial(2, 0).theta, 0.9f);
  EXPECT_EQ(search.trial(2, 0).phi, 0.1f);
  for (int number = 1; number < 40; ++number) {
    const ThresholdSearch::Trial trial = search.trial(1, number);
    EXPECT_TRUE(trial.theta > 0 && trial.theta < 0.95f && trial.phi >= 0.01f && trial.phi < 0.95f);
    EXPECT_NE(trial.theta, search.trial(0, number).theta) << "each layer has its own";
  }
}

TEST(ThresholdSearch, FindsTheBestTrialOfAPlainLoop) {
  const ThresholdSearch search = searched(few_trials());
  const std::vector<float> maps[] = {map_with(8, 20, 0.3f), map_with(3, 9, 0.3f)};
  const BlockSpan wanted[] = {{8, 20, 0}, {4, 10, 0}};
  double best = -1, usual = 0;
  ThresholdSearch::Trial chosen;
  for (int number = 0; number < 40; ++number) {
    const ThresholdSearch::Trial trial = search.trial(1, number);
    double sum = 0;
    for (int b = 0; b < 2; ++b) {
      const BlockMap map = map_of(maps[b]);
      double f1 = 0;
      for (const BlockSpan& span : divide_into_spans(
               map, {map_quantile(map, static_cast<double>(trial.theta)), trial.phi, 4})) {
        f1 = std::max(f1, span_f1(span, wanted[b]));
      }
      sum += f1 / 2;
    }
    if (number == 0) usual = sum;
    if (sum <= best) continue;
    best = sum;
    chosen = trial;
  }
  const ThresholdSearch::Found found = search.best(1);
  EXPECT_EQ(found.trial.theta, chosen.theta);
  EXPECT_EQ(found.trial.phi, chosen.phi);
  EXPECT_NEAR(found.f1, best, 1e-12);
  EXPECT_NEAR(found.usual, usual, 1e-12);
  EXPECT_EQ(found.blocks, 2);
  EXPECT_GT(found.f1, 0.8);
  EXPECT_EQ(search.best(0).trial.theta, 0.9f) << "nothing was seen in layer 0";
  EXPECT_EQ(searched(few_trials()).numbers(), search.numbers());
}

TEST(ThresholdSearch, LambdaIsTheSmallestThatCompressesEnough) {
  ThresholdSearchSettings settings = few_trials();
  settings.vectors = 64;
  const ThresholdSearch search = searched(settings);
  double before = 0;
  for (const float lambda : ThresholdSearch::lambdas()) {
    const double compression = search.compression(1, static_cast<double>(lambda));
    EXPECT_GE(compression, before) << lambda;
    before = compression;
    EXPECT_LE(search.lambda(1, 0.999 * compression), static_cast<double>(lambda)) << compression;
  }
  const double most = search.compression(1, 20);
  EXPECT_EQ(search.compression(1, search.lambda(1, 1e6)), most) << "none compresses so much";
  const double lambda = search.lambda(1, most / 2);
  EXPECT_GE(search.compression(1, lambda), 0.999 * most / 2);
  EXPECT_EQ(search.compression(0, 3), 0) << "no block";
}

TEST(ThresholdSearch, TakesItsNumbersBackAndNoOthers) {
  const ThresholdSearch search = searched(few_trials());
  ThresholdSearch again(2, few_trials());
  EXPECT_TRUE(again.set_numbers(search.numbers()));
  EXPECT_EQ(again.best(1).f1, search.best(1).f1);
  std::vector<double> broken = search.numbers();
  broken.back() = -1;
  EXPECT_FALSE(again.set_numbers(broken));
  broken.pop_back();
  EXPECT_FALSE(again.set_numbers(broken));
}

}  // namespace
}  // namespace longhaul
