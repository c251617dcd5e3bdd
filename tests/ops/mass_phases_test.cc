// The GPU's choices of blocks by mass, run by a loop in place of threads.

#include "ops/choose/mass_phases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "ops/choose/mass_count.h"

namespace longhaul {
namespace {

TEST(MassPhases, CountWhatTheHostCounts) {
  std::mt19937 random(6);
  const auto shared = std::make_unique<cuda::MassShared>();
  constexpr double kAll = std::numeric_limits<double>::infinity();
  for (const size_t count : {0, 1, 2, 100, 1024, 1025, 5000}) {
    for (int kind = 0; kind < 4; ++kind) {
      std::vector<float> scores(count);
      double sum = 0;
      for (float& x : scores) {  // sums of these are exact in any order
        x = static_cast<float>(random() % (kind == 1 ? 3 : 4000)) / 1024;
        if (kind == 2 && random() % 2 == 0) x = NAN;
        if (kind == 3) x = 0.25f;
        sum += std::isnan(x) ? 0 : static_cast<double>(x);
      }
      for (const double share : {0.0, 0.001, 0.3, 0.5, 0.9, 1.0, 1.5, kAll}) {
        const double mass = share == kAll ? kAll : std::round(share * sum * 1024) / 1024;
        std::vector<float> copy = scores;
        const int64_t expected = count_within_mass(copy, mass);
        cuda::count_within_mass(cuda::HostBlock{}, *shared, std::ssize(scores), mass,
                                [&](int64_t i) { return scores[static_cast<size_t>(i)]; });
        EXPECT_EQ(shared->taken, expected) << count << " scores, kind " << kind << ", " << share;
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
