#include "model/rope_spec.h"

#include <gtest/gtest.h>

#include <cmath>

namespace longhaul {
namespace {

/// The base implied by a table's second frequency.
double base_of(const RopeTable& table) {
  return std::pow(table.inverse_frequency[1], -table.rotary_dim() / 2.0);
}

TEST(RopeSpec, DynamicNtkBasesOfTheSpecification) {
  RopeSpec spec;
  spec.rotary_dim = 128;
  spec.scaling = RopeScaling::kDynamic;
  spec.factor = 4;
  spec.original_context = 8192;
  spec.base = 500000;
  EXPECT_NEAR(base_of(make_rope(spec, 16384)), 2564689.36, 1);
  EXPECT_NEAR(base_of(make_rope(spec, 32768)), 6770098.65, 1);
  EXPECT_NEAR(base_of(make_rope(spec, 8192)), 500000, 1e-3);
  spec.base = 10000;
  EXPECT_NEAR(base_of(make_rope(spec, 16384)), 51293.79, 0.01);
}

TEST(RopeSpec, Llama3KeepsShortWavesAndSlowsLongOnes) {
  RopeSpec spec;
  spec.rotary_dim = 64;
  spec.base = 500000;
  const RopeTable plain = make_rope(spec, 0);
  spec.scaling = RopeScaling::kLlama3;
  spec.factor = 8;
  spec.low_freq_factor = 1;
  spec.high_freq_factor = 4;
  spec.original_context = 8192;
  const RopeTable scaled = make_rope(spec, 0);
  for (size_t t = 0; t < plain.inverse_frequency.size(); ++t) {
    const double wave = 2 * 3.14159265358979 / plain.inverse_frequency[t];
    const double ratio = plain.inverse_frequency[t] / scaled.inverse_frequency[t];
    if (wave < 2048) {
      EXPECT_DOUBLE_EQ(ratio, 1);
    }
    if (wave > 8192) {
      EXPECT_NEAR(ratio, 8, 1e-9);
    }
    EXPECT_GE(ratio, 1);
    EXPECT_LE(ratio, 8 + 1e-9);
  }
}

TEST(RopeSpec, DivisorsOfAFileDivide) {
  RopeSpec spec;
  spec.rotary_dim = 4;
  spec.divisors = {1.0f, 8.0f};
  const RopeTable table = make_rope(spec, 0);
  EXPECT_DOUBLE_EQ(table.inverse_frequency[0], 1);
  EXPECT_DOUBLE_EQ(table.inverse_frequency[1], 0.01 / 8);
}

TEST(RopeSpec, LongRopeChoosesByLength) {
  RopeSpec spec;
  spec.rotary_dim = 4;
  spec.scaling = RopeScaling::kLongRope;
  spec.original_context = 100;
  spec.factor = 4;
  spec.short_factors = {1.0f, 2.0f};
  spec.long_factors = {1.0f, 16.0f};
  EXPECT_DOUBLE_EQ(make_rope(spec, 100).inverse_frequency[1], 0.005);
  EXPECT_DOUBLE_EQ(make_rope(spec, 101).inverse_frequency[1], 0.01 / 16);
  EXPECT_NEAR(make_rope(spec, 0).attention_factor, std::sqrt(1 + std::log(4) / std::log(100)),
              1e-6);
}

TEST(RopeSpec, KnowsWhichLengthsShareTheirAngles) {
  RopeSpec spec;
  spec.rotary_dim = 8;
  spec.original_context = 100;
  spec.factor = 4;
  spec.short_factors = {1.0f, 1.0f, 2.0f, 2.0f};
  spec.long_factors = {1.0f, 2.0f, 8.0f, 16.0f};
  for (const RopeScaling scaling : {RopeScaling::kNone, RopeScaling::kLinear, RopeScaling::kYarn,
                                    RopeScaling::kDynamic, RopeScaling::kLongRope}) {
    spec.scaling = scaling;
    for (const int64_t one : {0, 1, 99, 100, 101, 102, 300}) {
      for (const int64_t other : {0, 1, 99, 100, 101, 102, 300}) {
        EXPECT_EQ(spec.same_angles(one, other), make_rope(spec, one).inverse_frequency ==
                                                    make_rope(spec, other).inverse_frequency)
            << one << " " << other << " scaling " << static_cast<int>(scaling);
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
