#include "ops/core/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "isa_fixture.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

/// Floats of every exponent and both signs, ties between neighbours of both 16-bit types, and
/// infinities.
std::vector<float> difficult_floats() {
  std::mt19937 random(5);
  std::vector<float> x;
  for (uint32_t high = 0; high < 0x10000; ++high) {
    const auto any = static_cast<uint32_t>(random() & 0xffffu);
    for (const uint32_t low : {0x0000u, 0x8000u, 0x1000u, any}) {
      const auto value = std::bit_cast<float>(high << 16 | low);
      if (!std::isnan(value)) x.push_back(value);
    }
  }
  return x;
}

TEST(Convert, ToThe16BitFloatsAsTheScalarConversions) {
  at_every_isa([] {
    const std::vector<float> x = difficult_floats();
    std::vector<uint16_t> bf16(x.size()), f16(x.size());
    f32_to_bf16(x.data(), static_cast<int64_t>(x.size()), bf16.data());
    f32_to_f16(x.data(), static_cast<int64_t>(x.size()), f16.data());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(bf16[i], f32_to_bf16(x[i])) << x[i];
      ASSERT_EQ(f16[i], f32_to_f16(x[i])) << x[i];
    }
  });
}

TEST(Convert, FromThe16BitFloatsAsTheScalarConversions) {
  at_every_isa([] {
    std::vector<uint16_t> h(0x10000 - 3);  // includes a tail
    for (size_t i = 0; i < h.size(); ++i) h[i] = static_cast<uint16_t>(i);
    std::vector<float> bf16(h.size()), f16(h.size());
    bf16_to_f32(h.data(), static_cast<int64_t>(h.size()), bf16.data());
    f16_to_f32(h.data(), static_cast<int64_t>(h.size()), f16.data());
    for (size_t i = 0; i < h.size(); ++i) {
      const float b = bf16_to_f32(h[i]), f = f16_to_f32(h[i]);
      ASSERT_TRUE(std::isnan(b) ? std::isnan(bf16[i]) : b == bf16[i]) << i;
      ASSERT_TRUE(std::isnan(f) ? std::isnan(f16[i]) : f == f16[i]) << i;
    }
  });
}

TEST(Convert, NanStaysNan) {
  at_every_isa([] {
    for (const uint32_t bits : {0x7fffffffu, 0xffffffffu, 0x7f800001u, 0xff800001u}) {
      const std::vector<float> x(9, std::bit_cast<float>(bits));
      std::vector<uint16_t> bf16(9), f16(9);
      f32_to_bf16(x.data(), 9, bf16.data());
      f32_to_f16(x.data(), 9, f16.data());
      for (size_t i = 0; i < 9; ++i) {
        EXPECT_TRUE(std::isnan(bf16_to_f32(bf16[i])));
        EXPECT_TRUE(std::isnan(f16_to_f32(f16[i])));
      }
    }
  });
}

TEST(Convert, Q8_0BlocksHoldTheScaleThenTheNearestIntegers) {
  at_every_isa([] {
    const int64_t count = 32 * 2100;
    std::mt19937 random(6);
    std::normal_distribution<float> normal;
    std::vector<float> x(count);
    for (size_t i = 0; i < x.size(); ++i) {
      // Gives subnormal scales.
      x[i] = normal(random) * std::exp2f(static_cast<float>(i / 32 % 40) - 25);
    }
    std::fill(x.begin() + 64, x.begin() + 96, 0.0f);
    std::vector<std::byte> stored(count / 32 * 34);
    quantize_q8_0(x.data(), count, stored.data());
    std::vector<float> y(count);
    dequantize_row(DType::Q8_0, stored.data(), count, y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const std::byte* block = stored.data() + i / 32 * 34;
      f16_t h;
      std::memcpy(&h, block, 2);
      const float scale = f16_to_f32(h);
      const auto q = static_cast<int8_t>(block[2 + i % 32]);
      float amax = 0;
      for (size_t k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) amax = std::max(amax, std::abs(x[k]));
      ASSERT_EQ(h, f32_to_f16(amax / 127.0f));
      ASSERT_EQ(y[i], scale * static_cast<float>(q));
      const float error = std::abs(x[i] - y[i]);
      ASSERT_LE(error, scale * 0.50001f + std::max(0.0f, amax - 127 * scale)) << i;
    }
  });
}

TEST(Convert, Q4_0BlocksHoldTheScaleThenTheNearestOfSixteenLevels) {
  const int64_t count = 32 * 300;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (float& each : x) each = normal(random);
  std::fill(x.begin() + 64, x.begin() + 96, 0.0f);
  std::vector<std::byte> stored(count / 32 * 18);
  quantize_q4_0(x.data(), count, stored.data());
  std::vector<float> y(count);
  dequantize_row(DType::Q4_0, stored.data(), count, y.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t first = i / 32 * 32;
    float largest = 0;
    for (size_t k = first; k < first + 32; ++k) {
      if (std::abs(x[k]) > std::abs(largest)) largest = x[k];
    }
    f16_t h;
    std::memcpy(&h, stored.data() + i / 32 * 18, 2);
    ASSERT_EQ(h, f32_to_f16(largest / -8));
    // There is no level of +8 steps: values near the opposite of the largest one are a step off.
    const float step = std::abs(largest) / 8;
    const bool cut = x[i] * largest < 0 && std::abs(x[i]) > 7 * step;
    ASSERT_LE(std::abs(x[i] - y[i]), step * (cut ? 1.001f : 0.501f)) << i;
  }
}

TEST(Convert, Q4_0OfWhatItsScaleCannotHoldIsZero) {
  std::vector<float> x(32, 0.0f), y(32, 1.0f);
  x[3] = 1e-40f;  // the inverse of its scale is infinite
  std::vector<std::byte> stored(18);
  quantize_q4_0(x.data(), 32, stored.data());
  for (size_t i = 2; i < 18; ++i) EXPECT_EQ(stored[i], std::byte{0x88});
  dequantize_row(DType::Q4_0, stored.data(), 32, y.data());
  for (const float each : y) EXPECT_EQ(each, 0.0f);
}

}  // namespace
}  // namespace longhaul
