#include "kv/rope_append.h"

#include <cmath>

#include "kv/plain_store.h"

namespace longhaul {
namespace {

using namespace testing_support;

constexpr int kRotatedDim = 24, kRotary = 16, kKvHeads = 2;

RopeTable table() {
  RopeTable table;
  for (int t = 0; t < kRotary / 2; ++t) {
    table.inverse_frequency.push_back(std::pow(1e4, -2.0 * t / kRotary));
  }
  return table;
}

/// Half-split pairs. Elements past the rotary part are unchanged.
std::vector<float> rotated(const float* x, const RopeTable& rope, int64_t position) {
  std::vector<float> y(x, x + kRotatedDim);
  for (size_t t = 0; t < kRotary / 2; ++t) {
    const double angle = static_cast<double>(position) * rope.inverse_frequency[t];
    const double a = x[t], b = x[t + kRotary / 2];
    y[t] = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
    y[t + kRotary / 2] = static_cast<float>(b * std::cos(angle) + a * std::sin(angle));
  }
  return y;
}

void check(int lists, int64_t rows, int64_t position) {
  SCOPED_TRACE(testing::Message() << lists << " lists, " << rows << " rows");
  std::mt19937 random(7);
  KvStore store(KvLayout{{1, lists}, kRotatedDim, DType::F32, 16});
  const auto first = random_row(kKvHeads * kRotatedDim, random);  // existing rows are unchanged
  store.append(1, 1, view_of(first), view_of(first));
  const int width = kKvHeads * kRotatedDim;
  const auto k = random_row(static_cast<int>(rows) * width, random);
  const auto v = random_row(static_cast<int>(rows) * width, random);
  const RopeTable rope = table();
  RotationBuffer rotations;
  Array<float> keys;
  rope_append(host_queue(), rotations.fill(host_queue(), rope, 0, position + rows), position,
              {rows, kKvHeads, view_of(k), view_of(v)}, store, 1, keys);
  ASSERT_EQ(keys.size(), rows * width);
  EXPECT_EQ(store.length(0, 0), 0);
  std::vector<float> key(kRotatedDim), value(kRotatedDim);
  for (int list = 0; list < lists; ++list) {
    ASSERT_EQ(store.length(1, list), 1 + rows);
    for (int64_t row = 0; row < rows; ++row) {
      const auto from = (row * kKvHeads + list / (lists / kKvHeads)) * kRotatedDim;
      const auto want = rotated(k.data() + from, rope, position + row);
      store.read(1, list, 1 + row, key.data(), value.data());
      for (size_t t = 0; t < kRotatedDim; ++t) ASSERT_NEAR(key[t], want[t], 1e-5) << "row " << row;
      EXPECT_TRUE(std::equal(value.begin(), value.end(), v.begin() + from)) << "row " << row;
      EXPECT_TRUE(std::equal(key.begin(), key.end(), host(keys.view()).begin() + from));
    }
  }
}

TEST(RopeAppend, RotatesKeysWhereTheyStandAndFeedsEveryList) {
  for (const int lists : {kKvHeads, 3 * kKvHeads}) {
    for (const int64_t rows : {1, 63, 64, 65, 300}) check(lists, rows, 1000);
  }
}

TEST(RopeAppend, NoRowsChangeNothing) { check(kKvHeads, 0, 5); }

}  // namespace
}  // namespace longhaul
