#include "base/float_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace longhaul {
namespace {

TEST(FloatTypes, EveryF16SurvivesTheRoundTrip) {
  for (uint32_t h = 0; h < 0x10000u; ++h) {
    const float f = f16_to_f32(static_cast<f16_t>(h));
    if (std::isnan(f)) continue;
    EXPECT_EQ(f32_to_f16(f), h);
  }
}

TEST(FloatTypes, EveryBf16SurvivesTheRoundTrip) {
  for (uint32_t h = 0; h < 0x10000u; ++h) {
    const float f = bf16_to_f32(static_cast<bf16_t>(h));
    if (std::isnan(f)) continue;
    EXPECT_EQ(f32_to_bf16(f), h);
  }
}

TEST(FloatTypes, RoundsToNearestWithTiesToEven) {
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);    // tie goes to the even neighbour
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1.8p-7f), 0x3f82);  // tie, odd neighbour below
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);  // halfway past the largest f16
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);
  EXPECT_EQ(f32_to_f16(0x1.8p-25f), 0x0001);
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace longhaul
