#include "ops/maps/block_mass.h"

#include <gtest/gtest.h>

#include "ops/softmax_map.h"

namespace longhaul {
namespace {

using testing_support::SoftmaxMap;
using testing_support::view_of;

struct MassCase {
  KvType type;
  int head_dim, group, rows;
  int64_t past;
  int block;
  float cap = 0;
};

void check_masses(const MassCase& c, AttendCompute compute) {
  SCOPED_TRACE(testing::Message() << name_of(c.type) << " dim " << c.head_dim << " group "
                                  << c.group << " rows " << c.rows << " past " << c.past
                                  << " block " << c.block);
  SoftmaxMap map(c.type, c.head_dim, c.group, c.rows, c.past, compute);
  map.call.cap = c.cap;
  const int64_t blocks = block_count(map.keys, c.block);
  std::vector<float> mass[2];
  View<float> targets[2];
  for (int h = 0; h < 2; ++h) {
    mass[h].assign(static_cast<size_t>(c.rows * c.group * blocks), NAN);
    targets[h] = view_of(mass[h]);
  }
  block_mass(map.call, map.tasks, c.block, targets);
  const double tolerance = map.exact() ? 2e-5 : 2e-2;
  for (int head = 0; head < 2 * c.group; ++head) {
    for (int r = 0; r < c.rows; ++r) {
      double denominator = 0;
      const auto p = map.row(head, r, &denominator);
      std::vector<double> want(static_cast<size_t>(blocks));
      for (size_t j = 0; j < p.size(); ++j) want[j / static_cast<size_t>(c.block)] += p[j];
      const float* got =
          mass[head / c.group].data() + (int64_t{r} * c.group + head % c.group) * blocks;
      for (int64_t b = 0; b < blocks; ++b) {
        ASSERT_NEAR(got[b], want[static_cast<size_t>(b)], tolerance)
            << "row " << r << " block " << b;
      }
      ASSERT_NEAR(map.lse[static_cast<size_t>(r * map.call.heads + head)], denominator, tolerance);
    }
  }
}

TEST(BlockMass, EqualsTheDefinition) {
  at_every_isa([] {
    for (const MassCase& c :
         {MassCase{DType::BF16, 64, 3, 37, 0, 16}, MassCase{DType::BF16, 64, 1, 1, 300, 128},
          MassCase{DType::F16, 64, 2, 70, 129, 8}, MassCase{DType::F32, 80, 2, 3, 70, 4},
          MassCase{DType::Q8_0, 64, 8, 9, 130, 32},
          MassCase{{DType::Q4_0, DType::F16}, 64, 2, 9, 130, 32},
          MassCase{DType::F32, 24, 3, 33, 31, 1}, MassCase{DType::BF16, 1024, 1, 40, 200, 64},
          MassCase{DType::BF16, 64, 2, 70, 129, 16, 1.5f}}) {
      for (const auto compute : {AttendCompute::kBest, AttendCompute::kF32}) {
        check_masses(c, compute);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TEST(BlockMass, KeysBeyondOneUnitOfWork) {
  check_masses({DType::F32, 32, 1, 2, 9000, 128}, AttendCompute::kF32);
  check_masses({DType::BF16, 64, 2, 300, 500, 16}, AttendCompute::kBest);
}

TEST(BlockMass, RowsThatSeeNothingHaveNone) {
  SoftmaxMap map(DType::F32, 32, 1, 4, 0, AttendCompute::kF32);
  for (auto& segment : map.segments) segment.position = 2;
  float mass[2][4];
  const View<float> targets[] = {{mass[0], 4}, {mass[1], 4}};
  block_mass(map.call, map.tasks, 4, targets);
  for (const int r : {0, 1}) {
    EXPECT_EQ(mass[0][r], 0.0f);
    EXPECT_EQ(map.lse[static_cast<size_t>(2 * r)], -INFINITY);
  }
  EXPECT_NEAR(mass[0][2], 1.0f, 1e-6f);
}

}  // namespace
}  // namespace longhaul
