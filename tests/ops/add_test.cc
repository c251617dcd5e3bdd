#include "ops/core/add.h"

#include <gtest/gtest.h>

#include <vector>

#include "isa_fixture.h"

namespace longhaul {
namespace {

TEST(Add, ResidualAndBias) {
  at_every_isa([] {
    const int64_t rows = 700, n = 101;  // large enough to be divided
    std::vector<float> x(rows * n), y(rows * n), bias(n);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i % 97);
      y[i] = static_cast<float>(i % 31);
    }
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(1000 * i);
    add(y.data(), x.data(), rows, n);
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], static_cast<float>(i % 97 + i % 31));
    add(y.data(), x.data(), rows, n, bias.data());
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], static_cast<float>(2 * (i % 97) + i % 31 + 1000 * (i % n)));
    }
  });
}

TEST(Add, ScaledNumbers) {
  std::vector<float> x(70'001), y(x.size(), 1.0f);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 64);
  add_scaled(y.data(), x.data(), static_cast<int64_t>(x.size()), 0.5f);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], 1 + 0.5f * static_cast<float>(i % 64));
}

TEST(Add, BiasToRowsWithAStride) {
  at_every_isa([] {
    std::vector<float> y(3 * 10, 1.0f);
    const std::vector<float> bias = {1, 2, 3, 4, 5, 6, 7};
    add_bias(y.data(), bias.data(), 3, 7, 10);
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i], i % 10 < 7 ? static_cast<float>(i % 10 + 2) : 1.0f);
    }
  });
}

}  // namespace
}  // namespace longhaul
