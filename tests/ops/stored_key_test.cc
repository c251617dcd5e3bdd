#include "ops/attention/stored_key.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "ops/core/convert.h"
#include "ops/isa_fixture.h"

namespace longhaul {
namespace {

std::vector<float> random_numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (float& each : x) each = normal(random);
  return x;
}

TEST(MixBlocks, IsTheHadamardTransformOfEvery32) {
  at_every_isa([] {
    const std::vector<float> x = random_numbers(96, 4);
    std::vector<float> y = x;
    mix_blocks(y.data(), 96);
    for (unsigned i = 0; i < 96; ++i) {
      double want = 0;
      for (unsigned k = 0; k < 32; ++k) {
        const bool odd = std::popcount(i % 32 & k) % 2 != 0;
        want += (odd ? -1.0 : 1.0) * double{x[i / 32 * 32 + k]};
      }
      ASSERT_NEAR(y[i], want / std::sqrt(32.0), 1e-6) << i;
    }
    mix_blocks(y.data(), 96);
    for (size_t i = 0; i < 96; ++i) ASSERT_NEAR(y[i], x[i], 1e-6) << i;
  });
}

double error_of_row(bool key, const std::vector<float>& x) {
  const auto count = static_cast<int64_t>(x.size());
  std::vector<std::byte> row(bytes_of(DType::Q4_0, count));
  std::vector<float> y(x.size());
  write_row(DType::Q4_0, key, x.data(), count, row.data());
  read_row(DType::Q4_0, key, row.data(), count, y.data());
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::pow(double{x[i]} - double{y[i]}, 2);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

TEST(StoredKey, ALargeChannelDoesNotSpoilItsBlock) {
  std::vector<float> x = random_numbers(64, 9);
  x[5] = 20;
  x[40] = -15;
  EXPECT_GT(error_of_row(false, x), 0.5);  // a value's scale is an eighth of its largest element
  EXPECT_LT(error_of_row(true, x), 0.3);
}

TEST(StoredKey, RowsOfEveryTypeAreWhatWasWrittenWithinItsPrecision) {
  const std::vector<float> x = random_numbers(64, 2);
  for (const auto& [type, allowed] :
       {std::pair{DType::F32, 0.0}, {DType::F16, 2e-3}, {DType::BF16, 1e-2}, {DType::Q8_0, 2e-2}}) {
    std::vector<std::byte> row(bytes_of(type, 64));
    std::vector<float> y(64);
    write_row(type, true, x.data(), 64, row.data());
    read_row(type, true, row.data(), 64, y.data());
    for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(x[i], y[i], allowed) << name_of(type);
  }
}

}  // namespace
}  // namespace longhaul
