#include "ops/attention/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

RopeTable table_of_rope(int rotary_dim) {
  RopeTable table;
  for (int t = 0; t < rotary_dim / 2; ++t) {
    table.inverse_frequency.push_back(std::pow(5e5, -2.0 * t / rotary_dim));
  }
  return table;
}

std::vector<float> random_row(int n, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(n));
  for (float& e : x) e = normal(random);
  return x;
}

double dot_at(const Rotations& r, const std::vector<float>& q, int64_t m,
              const std::vector<float>& k, int64_t n) {
  std::vector<float> a(q.size()), b(k.size());
  const int dim = static_cast<int>(q.size());
  apply_rope(host_queue(), r, m, view_of(q), 1, 1, dim, view_of(a));
  apply_rope(host_queue(), r, n, view_of(k), 1, 1, dim, view_of(b));
  double dot = 0;
  for (size_t i = 0; i < a.size(); ++i) dot += double{a[i]} * b[i];
  return dot;
}

TEST(Rope, TheProductDependsOnTheDistanceAlone) {
  const RopeTable table = table_of_rope(64);
  RotationBuffer buffer;
  const Rotations& r = buffer.fill(host_queue(), table, 0, 20000);
  const auto q = random_row(64, 1), k = random_row(64, 2);
  const double want = dot_at(r, q, 17, k, 5);
  for (const int64_t shift : {1, 100, 4000, 19000}) {
    EXPECT_NEAR(dot_at(r, q, 17 + shift, k, 5 + shift), want, 2e-4);
  }
}

TEST(Rope, RotatesOnlyTheFirstElementsAndMatchesTheDefinition) {
  const RopeTable table = table_of_rope(16);
  RotationBuffer buffer;
  const Rotations& r = buffer.fill(host_queue(), table, 90, 20);
  const auto x = random_row(2 * 3 * 24, 3);  // 2 rows, 3 heads of 24
  std::vector<float> y(x.size());
  apply_rope(host_queue(), r, 100, view_of(x), 2, 3, 24, view_of(y));
  for (size_t row = 0; row < 2; ++row) {
    for (size_t h = 0; h < 3; ++h) {
      const float* in = x.data() + (row * 3 + h) * 24;
      const float* out = y.data() + (row * 3 + h) * 24;
      for (size_t t = 0; t < 8; ++t) {
        const double angle = (100.0 + static_cast<double>(row)) * table.inverse_frequency[t];
        EXPECT_NEAR(out[t], in[t] * std::cos(angle) - in[t + 8] * std::sin(angle), 1e-5);
        EXPECT_NEAR(out[t + 8], in[t + 8] * std::cos(angle) + in[t] * std::sin(angle), 1e-5);
      }
      for (size_t t = 16; t < 24; ++t) EXPECT_EQ(out[t], in[t]);
    }
  }
}

TEST(Rope, AStretchedTableKeepsTheFastestAndSlowsTheSlowestByTheStretch) {
  const RopeTable table = table_of_rope(16), stretched = stretched_rope(table, 8);
  for (size_t t = 0; t < 8; ++t) {
    // For base b, the base is b * 8^(d / (d - 2)), as in NTK-aware scaling.
    const double base = 5e5 * std::pow(8.0, 16.0 / 14);
    EXPECT_NEAR(stretched.inverse_frequency[t] / std::pow(base, -2.0 * static_cast<double>(t) / 16),
                1, 1e-12);
  }
  EXPECT_EQ(stretched.inverse_frequency[0], table.inverse_frequency[0]);
  EXPECT_NEAR(stretched.inverse_frequency[7], table.inverse_frequency[7] / 8, 1e-15);
  EXPECT_EQ(stretched_rope(table, 1), table);
  EXPECT_EQ(stretched_rope(table_of_rope(2), 8), table_of_rope(2));
}

TEST(Rope, AConstantAngleIsThatAngleForEveryRow) {
  const RopeTable table = table_of_rope(32);
  RotationBuffer buffer;
  const Rotations& r = buffer.fill(host_queue(), table, 0, 64);
  const auto x = random_row(4 * 32, 5);
  std::vector<float> all(x.size()), one(32);
  apply_rope_constant(host_queue(), r, 63, view_of(x), 4, 1, 32, view_of(all));
  for (size_t row = 0; row < 4; ++row) {
    apply_rope(host_queue(), r, 63, view_of(x).from(static_cast<int64_t>(row) * 32), 1, 1, 32,
               view_of(one));
    for (size_t t = 0; t < 32; ++t) EXPECT_EQ(all[row * 32 + t], one[t]);
  }
}

TEST(Rope, ABufferThatCoversTheRangeIsKept) {
  const RopeTable table = table_of_rope(8);
  RotationBuffer buffer;
  const float* first = buffer.fill(host_queue(), table, 0, 100).cosine;
  EXPECT_EQ(buffer.fill(host_queue(), table, 10, 50).cosine, first);
  EXPECT_EQ(buffer.fill(host_queue(), table, 200, 10).first, 200);
}

TEST(Rope, ABufferFollowsAnotherTableOfTheSameSize) {
  const RopeTable table = table_of_rope(8);
  RopeTable slower = table, louder = table;
  for (double& frequency : slower.inverse_frequency) frequency /= 2;
  louder.attention_factor = 3;
  RotationBuffer buffer;
  const float sine = buffer.fill(host_queue(), table, 0, 100).sine[10 * 4];
  EXPECT_EQ(buffer.fill(host_queue(), slower, 0, 100).sine[20 * 4], sine);
  EXPECT_EQ(buffer.up_to(host_queue(), louder, 50).sine[10 * 4], 3 * sine);
}

TEST(Rope, ATableThatGrowsIsComputedAnewOnlyNowAndThen) {
  const RopeTable table = table_of_rope(8);
  RotationBuffer buffer;
  int times = 0;
  for (int64_t end = 1, covered = 0; end <= 20000; ++end) {
    const Rotations& r = buffer.up_to(host_queue(), table, end);
    ASSERT_EQ(r.first, 0);
    ASSERT_GE(r.count, end);
    times += r.count != covered ? 1 : 0;
    covered = r.count;
  }
  EXPECT_LT(times, 20);
}

}  // namespace
}  // namespace longhaul
