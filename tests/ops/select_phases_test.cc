// The GPU's selection of rows, run by a loop in place of threads.

#include "ops/choose/select_phases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "ops/choose/select_rows.h"

namespace longhaul {
namespace {

std::vector<float> scores_of_kind(int kind, int64_t rows, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> scores(static_cast<size_t>(rows));
  for (float& x : scores) {
    x = normal(random);
    if (kind == 1) x = std::round(2 * x);
    if (kind == 2) x = 1;
    if (kind != 3) continue;
    const auto pick = random() % 4;
    x = pick == 0   ? NAN
        : pick == 1 ? -std::numeric_limits<float>::infinity()
        : pick == 2 ? -0.0f
                    : 0.0f;
  }
  return scores;
}

TEST(SelectPhases, ChooseWhatTheHostChooses) {
  std::mt19937 random(1);
  const auto shared = std::make_unique<cuda::SelectShared>();
  for (const int64_t rows : {1, 2, 63, 64, 65, 1000, 1023, 1024, 1025, 4097, 20000}) {
    for (int kind = 0; kind < 4; ++kind) {
      std::vector<float> scores = scores_of_kind(kind, rows, random);
      for (const int64_t ends : {0, 1, 5}) {
        for (const int64_t more : {int64_t{0}, int64_t{1}, rows / 2, rows - 1, rows}) {
          const RowsToKeep keep{ends, 2 * ends, 3 * ends + more};
          RowSelection selection;
          const RowList list = select_rows(
              host_queue(), View<const float>(std::span<const float>(scores)), keep, selection);
          const auto expected = host_rows(list);
          std::vector<int32_t> got(expected.size() + 1, -7);
          cuda::select_rows(cuda::HostBlock{}, *shared,
                            {scores.data(), rows, keep.first, keep.last, keep.count, got.data()});
          EXPECT_EQ(got.back(), -7);
          got.pop_back();
          EXPECT_EQ(got, std::vector<int32_t>(expected.begin(), expected.end()))
              << rows << " rows, kind " << kind << ", ends " << ends << ", more " << more;
        }
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
