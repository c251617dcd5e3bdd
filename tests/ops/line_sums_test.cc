#include "ops/maps/line_sums.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ops/maps/block_mass.h"
#include "ops/softmax_map.h"

namespace longhaul {
namespace {

using testing_support::SoftmaxMap;
using testing_support::view_of;

struct Lines {
  explicit Lines(SoftmaxMap& map) {
    const size_t each = static_cast<size_t>(map.group * map.keys);
    std::vector<float> mass[2];
    View<float> masses[2];
    LineSums sums[2];
    for (int h = 0; h < 2; ++h) {
      mass[h].resize(static_cast<size_t>(map.rows * map.group * block_count(map.keys, 128)));
      masses[h] = view_of(mass[h]);
    }
    columns.assign(2 * each, NAN);
    diagonals.assign(2 * each, NAN);
    const auto half = static_cast<int64_t>(each);
    for (int h = 0; h < 2; ++h) {
      sums[h] = {view_of(columns).part(h * half, half), view_of(diagonals).part(h * half, half)};
    }
    block_mass(map.call, map.tasks, 128, masses);  // computes the denominators
    line_sums(map.call, map.tasks, sums);
  }
  std::vector<float> columns, diagonals;  // [heads, keys]
};

void check_lines(KvType type, int dim, int group, int rows, int64_t past, AttendCompute compute,
                 float cap = 0) {
  SCOPED_TRACE(testing::Message() << name_of(type) << " dim " << dim << " group " << group
                                  << " rows " << rows << " past " << past);
  SoftmaxMap map(type, dim, group, rows, past, compute);
  map.call.cap = cap;
  const Lines got(map);
  const double tolerance = (map.exact() ? 2e-5 : 1e-2);
  for (int head = 0; head < 2 * group; ++head) {
    std::vector<double> columns(static_cast<size_t>(map.keys)), diagonals(columns);
    for (int r = 0; r < rows; ++r) {
      const auto p = map.row(head, r);
      for (int64_t j = 0; j <= past + r; ++j) {
        columns[static_cast<size_t>(j)] += p[static_cast<size_t>(j)];
        diagonals[static_cast<size_t>(past + r - j)] += p[static_cast<size_t>(j)];
      }
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      const size_t at = static_cast<size_t>(head) * columns.size() + i;
      ASSERT_NEAR(got.columns[at], columns[i], tolerance * (1 + columns[i])) << "key " << i;
      ASSERT_NEAR(got.diagonals[at], diagonals[i], tolerance * (1 + diagonals[i]))
          << "offset " << i;
    }
  }
}

TEST(LineSums, EqualTheDefinition) {
  at_every_isa([] {
    for (const auto compute : {AttendCompute::kBest, AttendCompute::kF32}) {
      check_lines(DType::BF16, 64, 3, 64, 0, compute);
      check_lines(DType::BF16, 64, 1, 128, 1000, compute);
      check_lines(DType::F16, 64, 2, 33, 480, compute);
      check_lines(DType::F32, 80, 2, 1, 70, compute);
      check_lines(DType::Q8_0, 64, 8, 9, 530, compute);
      check_lines({DType::Q4_0, DType::F16}, 64, 3, 33, 480, compute);
      check_lines(DType::F32, 24, 3, 40, 472, compute);
      check_lines(DType::BF16, 64, 2, 33, 480, compute, 1.5f);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(LineSums, SumToTheNumberOfRowsWhateverTheThreads) {
  const RestoreIsaAndThreads restore;
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    SoftmaxMap map(DType::BF16, 64, 2, 64, 2000, AttendCompute::kBest);
    const Lines lines(map);
    EXPECT_NEAR(std::accumulate(lines.columns.begin(), lines.columns.end(), 0.0), 4 * 64, 0.5);
    EXPECT_NEAR(std::accumulate(lines.diagonals.begin(), lines.diagonals.end(), 0.0), 4 * 64, 0.5);
    results.push_back(lines.columns);
    results.push_back(lines.diagonals);
  }
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(results[1], results[3]);
}

}  // namespace
}  // namespace longhaul
