#include "ops/matmul/dequantize.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "ops/core/isa/isa.h"

namespace longhaul {
namespace {

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string golden(DType type, const std::string& ending) {
  return fmt::format("{}/dequantize/{}{}", LONGHAUL_TEST_DATA, name_of(type), ending);
}

/// Random blocks. f16 scales are neither infinite nor NaN, whose payload differs between CPUs.
std::vector<std::byte> random_rows(DType type, int64_t elements, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(bytes_of(type, elements));
  // The exponent is never all ones.
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 0xbf);
  return bytes;
}

class DequantizeTest : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void SetUp() override {
    const Isa isa = static_cast<Isa>(std::get<1>(GetParam()));
    isa_ = std::min(isa, best_isa());  // on lesser machines the machine's level is tested again
    set_isa(isa_);
  }
  void TearDown() override { set_isa(best_isa()); }
  DType type() const { return static_cast<DType>(std::get<0>(GetParam())); }

  Isa isa_ = Isa::kGeneric;
};

TEST_P(DequantizeTest, EqualsTheGgufPackage) {
  const auto blocks = read_bytes(golden(type(), ".blocks"));
  const auto expected_bytes = read_bytes(golden(type(), ".f32"));
  ASSERT_FALSE(expected_bytes.empty());
  std::vector<float> expected(expected_bytes.size() / sizeof(float));
  std::memcpy(expected.data(), expected_bytes.data(), expected_bytes.size());
  const auto count = static_cast<int64_t>(expected.size());
  ASSERT_EQ(bytes_of(type(), count), blocks.size());

  std::vector<float> values(expected.size());
  dequantize_row(type(), blocks.data(), count, values.data());
  std::vector<bf16_t> rounded(expected.size());
  dequantize_row_bf16(type(), blocks.data(), count, rounded.data());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(values[i], expected[i]) << "element " << i;
    ASSERT_EQ(bf16_to_f32(rounded[i]), bf16_to_f32(f32_to_bf16(expected[i]))) << "element " << i;
  }
}

TEST_P(DequantizeTest, SameBitsAsTheGenericLevel) {
  const int64_t count = traits(type()).block_size > 1 ? 256 * 37 : 1031;
  const auto rows = random_rows(type(), count, 7);
  std::vector<float> values(static_cast<size_t>(count)), plain(values);
  std::vector<bf16_t> rounded(values.size()), plain_rounded(values.size());
  dequantize_row(type(), rows.data(), count, values.data());
  dequantize_row_bf16(type(), rows.data(), count, rounded.data());
  set_isa(Isa::kGeneric);
  dequantize_row(type(), rows.data(), count, plain.data());
  dequantize_row_bf16(type(), rows.data(), count, plain_rounded.data());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(plain[i])) << i;
    ASSERT_EQ(rounded[i], plain_rounded[i]) << i;
    ASSERT_EQ(rounded[i], f32_to_bf16(values[i])) << i;
  }
}

TEST_P(DequantizeTest, StaysInsideItsOutput) {
  const int64_t count = traits(type()).block_size > 1 ? traits(type()).block_size : 13;
  const auto rows = random_rows(type(), count, 3);
  std::vector<bf16_t> rounded(static_cast<size_t>(count) + 64, 0x1234);
  std::vector<float> values(rounded.size(), 42.0f);
  dequantize_row_bf16(type(), rows.data(), count, rounded.data());
  dequantize_row(type(), rows.data(), count, values.data());
  for (size_t i = static_cast<size_t>(count); i < rounded.size(); ++i) {
    ASSERT_EQ(rounded[i], 0x1234) << i;
    ASSERT_EQ(values[i], 42.0f) << i;
  }
}

TEST_P(DequantizeTest, RowsOfAMatrixSpreadOverThreads) {
  const int64_t rows = 23, cols = 512, first = 5, count = 11;
  const auto bytes = random_rows(type(), rows * cols, 11);
  const TensorView matrix{bytes.data(), type(), 2, {rows, cols, 1, 1}, "test"};
  std::vector<bf16_t> all(static_cast<size_t>(rows * cols)),
      part(static_cast<size_t>(count * cols));
  std::vector<float> values(part.size());
  dequantize_row_bf16(type(), bytes.data(), rows * cols, all.data());
  dequantize_rows_bf16(matrix, first, count, part.data());
  dequantize_rows(matrix, first, count, values.data());
  for (size_t i = 0; i < part.size(); ++i) {
    ASSERT_EQ(part[i], all[static_cast<size_t>(first * cols) + i]) << i;
    ASSERT_EQ(f32_to_bf16(values[i]), part[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    TypesAndLevels, DequantizeTest,
    testing::Combine(testing::Range(0, kDTypeCount), testing::Range(0, kIsaCount)),
    [](const auto& test) {
      return std::string(name_of(static_cast<DType>(std::get<0>(test.param)))) + "_" +
             std::string(name_of(static_cast<Isa>(std::get<1>(test.param))));
    });

}  // namespace
}  // namespace longhaul
