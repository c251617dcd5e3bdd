#include "ops/choose/mass_count.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace longhaul {
namespace {

TEST(MassCount, CountsTheBestWithinTheMass) {
  std::mt19937 random(3);
  std::exponential_distribution<float> scores_of(1.0f);
  for (const size_t n : {1u, 2u, 3u, 64u, 1000u}) {
    std::vector<float> scores(n);
    double total = 0;
    for (float& s : scores) total += s = scores_of(random);
    std::vector<float> sorted = scores;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (const double share : {0.0, 0.1, 0.5, 0.9, 0.999, 1.1}) {
      int64_t want = 0;
      double sum = 0;
      for (const float s : sorted) {
        sum += s;
        if (sum > share * total) break;
        ++want;
      }
      std::vector<float> scratch = scores;
      EXPECT_EQ(count_within_mass(scratch, share * total), want) << n << " share " << share;
    }
  }
}

TEST(MassCount, NothingEqualScoresAndZeros) {
  std::vector<float> none;
  EXPECT_EQ(count_within_mass(none, 1), 0);
  std::vector<float> equal(8, 0.125f);
  EXPECT_EQ(count_within_mass(equal, 0.5), 4);
  std::vector<float> zeros = {0, 1, 0, 0};
  EXPECT_EQ(count_within_mass(zeros, 0.5), 0);
  EXPECT_EQ(count_within_mass(zeros, 1), 4);
  std::vector<float> damaged = {NAN, 0.5f, NAN, 0.25f, NAN};
  EXPECT_EQ(count_within_mass(damaged, 0.6), 1);
  EXPECT_EQ(count_within_mass(damaged, 0.75), 5);
}

}  // namespace
}  // namespace longhaul
