// The values of stored rows as device code reads them, run on the host.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "ops/attention/decode/half_bytes.h"
#include "ops/attention/stored_row.h"

namespace longhaul {
namespace {

using cuda::PageType;

constexpr DType kTypes[] = {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0};

std::vector<float> random_stored_row(int count, float size, std::mt19937& random) {
  std::normal_distribution<float> normal(0, size);
  std::vector<float> row(static_cast<size_t>(count));
  for (float& x : row) x = normal(random);
  return row;
}

/// Consecutive rows, as in a page. For block types, every second row begins between two words.
class CudaStoredRow : public testing::TestWithParam<DType> {};

TEST_P(CudaStoredRow, EightsAreTheRowsNumbers) {
  std::mt19937 random(3);
  for (const bool key : {true, false}) {
    const PageType type = cuda::page_type(GetParam(), key);
    for (const int dim : {32, 64, 96, 128, 256}) {
      const auto bytes = static_cast<size_t>(cuda::stored_bytes(type, dim));
      EXPECT_EQ(bytes, bytes_of(GetParam(), dim));
      constexpr size_t kRows = 16;
      std::vector<std::byte> page(kRows * bytes + 4);
      for (size_t r = 0; r < kRows; ++r) {
        const std::vector<float> x = random_stored_row(dim,
                                                       r == 0   ? 0.0f
                                                       : r == 1 ? 1e-6f
                                                                : 2.0f,
                                                       random);
        write_row(GetParam(), key, x.data(), dim, page.data() + r * bytes);
      }
      for (size_t r = 0; r < kRows; ++r) {
        const std::byte* const row = page.data() + r * bytes;
        std::vector<float> expected(static_cast<size_t>(dim));
        read_row(GetParam(), key, row, dim, expected.data());
        for (int t = 0; t < dim; ++t) {
          const float got = cuda::load_eight(cuda::RowBytes{row}, type, t / 8).x[t % 8];
          const float wanted = expected[static_cast<size_t>(t)];
          if (type == PageType::kHadamardQ4_0) {  // summed in another order
            ASSERT_NEAR(got, wanted, 1e-5f * std::abs(wanted) + 1e-6f) << r << ' ' << t;
          } else {
            ASSERT_EQ(got, wanted) << r << ' ' << t;
          }
        }
      }
    }
  }
}

/// Plain rows may have 80 elements, for example.
TEST_P(CudaStoredRow, PlainRowsNeedNoWholeBlocks) {
  if (is_block_type(GetParam())) return;
  std::mt19937 random(5);
  const std::vector<float> x = random_stored_row(80, 1, random);
  alignas(16) std::byte row[4 * 80];
  write_row(GetParam(), true, x.data(), 80, row);
  float expected[80];
  read_row(GetParam(), true, row, 80, expected);
  for (int t = 0; t < 80; ++t) {
    ASSERT_EQ(
        cuda::load_eight(cuda::RowBytes{row}, cuda::page_type(GetParam(), true), t / 8).x[t % 8],
        expected[t]);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaStoredRow, testing::ValuesIn(kTypes),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// The largest f16 scale and every level: no value is rounded.
TEST(CudaStoredRows, BytesAreScaledExactly) {
  for (const float scale : {65504.0f, -65504.0f, 1.0f / 3, 6.0e-8f, 0.0f}) {
    const float stored = f16_to_f32(f32_to_f16(scale));
    for (uint32_t level = 0; level < 256; ++level) {
      float x[4];
      cuda::scale_bytes(level | level << 8 | level << 16 | level << 24, 128.0f, stored, x);
      for (const float each : x) ASSERT_EQ(each, (static_cast<float>(level) - 128.0f) * stored);
      cuda::scale_bytes(level % 16, 8.0f, stored, x);
      ASSERT_EQ(x[0], (static_cast<float>(level % 16) - 8.0f) * stored);
    }
  }
}

TEST(CudaHalfBytes, AreRaisedNumbersOfEveryHalfByte) {
  for (uint32_t two = 0; two < 65536; ++two) {
    const uint32_t x = two | ~two << 16;
    for (int n = 0; n < 4; ++n) {
      const uint32_t pair = cuda::raised_half_bytes(x, n);
      const auto low = static_cast<float>(two >> (4 * n) & 15u) - 8.0f;
      ASSERT_EQ(cuda::bf16_value(pair & 0xffffu) - cuda::kRaised, low) << two << ' ' << n;
      ASSERT_EQ(cuda::bf16_value(pair >> 16) - cuda::kRaised, -1.0f - low) << two << ' ' << n;
    }
  }
  EXPECT_EQ(cuda::halves_of(0x33221100u, 0x77665544u), 0x55441100u);
  EXPECT_EQ(cuda::upper_halves_of(0x33221100u, 0x77665544u), 0x77663322u);
}

}  // namespace
}  // namespace longhaul
