// linear() and linear_swiglu() with an adapter in addition to the weights, for every instruction
// set, compared with a double loop over the stored factors.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "isa_fixture.h"
#include "ops/core/convert.h"
#include "ops/matmul/dequantize.h"
#include "ops/matmul/linear.h"
#include "ops/random_floats.h"

namespace longhaul {
namespace {

using testing_support::random_floats;

/// A random matrix as F32, BF16 or Q8_0, and its values.
struct LowRankMatrix {
  std::vector<std::byte> bytes;
  TensorView view;
  std::vector<float> values;

  LowRankMatrix(DType type, int64_t rows, int64_t cols, uint32_t seed, float scale = 1)
      : bytes(static_cast<size_t>(rows) * bytes_of(type, cols)),
        values(random_floats(rows * cols, seed, scale)) {
    view.data = bytes.data();
    view.type = type;
    view.rank = 2;
    view.shape = {rows, cols, 1, 1};
    for (int64_t r = 0; r < rows; ++r) {
      float* row = values.data() + r * cols;
      std::byte* at = bytes.data() + static_cast<size_t>(r) * bytes_of(type, cols);
      if (type == DType::F32) std::copy_n(row, cols, reinterpret_cast<float*>(at));
      if (type == DType::BF16) f32_to_bf16(row, cols, reinterpret_cast<bf16_t*>(at));
      if (type == DType::Q8_0) quantize_q8_0(row, cols, at);
      dequantize_row(type, at, cols, row);
    }
  }
};

struct Adapter {
  LowRankMatrix a, b;
  LowRank low_rank;

  Adapter(DType type, int64_t outputs, int64_t cols, int64_t rank, uint32_t seed)
      : a(type, rank, cols, seed), b(type, outputs, rank, seed + 1) {
    low_rank.a = a.view;
    low_rank.b = b.view;
    for (int64_t r = 0; r < rank; ++r) low_rank.scale.push_back(r % 2 == 0 ? 0.5f : 0.25f);
    low_rank.packed_b = PackedOutputs(b.view);
  }

  /// The adapter's contribution to a row's outputs.
  std::vector<double> of(const float* x) const {
    const int64_t cols = a.view.cols(), rank = low_rank.rank(), outputs = b.view.rows();
    std::vector<double> sums(static_cast<size_t>(outputs), 0);
    for (int64_t r = 0; r < rank; ++r) {
      double inner = 0;
      for (int64_t k = 0; k < cols; ++k) {
        inner += double{x[k]} * a.values[static_cast<size_t>(r * cols + k)];
      }
      inner *= low_rank.scale[static_cast<size_t>(r)];
      for (int64_t n = 0; n < outputs; ++n) {
        sums[static_cast<size_t>(n)] += inner * b.values[static_cast<size_t>(n * rank + r)];
      }
    }
    return sums;
  }
};

double product_of(const LowRankMatrix& w, const float* x, int64_t output) {
  double sum = 0;
  for (int64_t k = 0; k < w.view.cols(); ++k) {
    sum += double{x[k]} * w.values[static_cast<size_t>(output * w.view.cols() + k)];
  }
  return sum;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::abs(v));
  return most;
}

constexpr std::array kLowRankComputes = {Compute::kBest, Compute::kInt8, Compute::kF32};

struct LowRankCase {
  DType type;
  int64_t rank;
};

class LowRankTest : public testing::TestWithParam<LowRankCase> {};

/// Two matrices on one input, the second without an adapter. Results are apart and have a bias.
TEST_P(LowRankTest, IsAddedToDecodeAndManyRows) {
  constexpr int64_t kCols = 96, kOutputs = 75, kStride = 80;
  const auto [type, rank] = GetParam();
  const LowRankMatrix w(DType::BF16, kOutputs, kCols, 1), plain(DType::F32, 9, kCols, 2);
  const Adapter adapter(type, kOutputs, kCols, rank, 3);
  const std::vector<float> bias = random_floats(kOutputs, 5);
  for (const int64_t rows : {1, 8, 70}) {
    const std::vector<float> x = random_floats(rows * kCols, 6);
    std::vector<double> want, other;
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x.data() + r * kCols;
      const std::vector<double> added = adapter.of(row);
      for (size_t n = 0; n < kOutputs; ++n) {
        want.push_back(product_of(w, row, static_cast<int64_t>(n)) + bias[n] + added[n]);
      }
      for (int64_t n = 0; n < 9; ++n) other.push_back(product_of(plain, row, n));
    }
    at_every_isa([&] {
      for (const Compute compute : kLowRankComputes) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << name_of(compute));
        std::vector<float> y(static_cast<size_t>(rows * kStride), NAN);
        std::vector<float> second(static_cast<size_t>(rows * 9), NAN);
        LinearInput input;
        input.assign(x.data(), rows, kCols);
        const LinearJob jobs[] = {
            {w.view, y.data(), kStride, bias.data(), false, &adapter.low_rank},
            {.weight = plain.view, .y = second.data()}};
        linear(input, jobs, compute);
        const double share = compute == Compute::kF32 ? 1e-5 : 0.025;
        for (size_t i = 0; i < want.size(); ++i) {
          const size_t at = i / kOutputs * kStride + i % kOutputs;
          ASSERT_NEAR(y[at], want[i], share * largest(want)) << "element " << i;
        }
        for (size_t i = 0; i < other.size(); ++i) {
          ASSERT_NEAR(second[i], other[i], share * largest(other)) << "element " << i;
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST_P(LowRankTest, IsAddedToWhatStandsThere) {
  constexpr int64_t kCols = 2304, kOutputs = 33;  // deeper than one part of expanded columns
  const auto [type, rank] = GetParam();
  const LowRankMatrix w(DType::Q8_0, kOutputs, kCols, 1);
  const Adapter adapter(type, kOutputs, kCols, rank, 3);
  for (const int64_t rows : {2, 37}) {
    const std::vector<float> x = random_floats(rows * kCols, 6);
    const std::vector<float> before = random_floats(rows * kOutputs, 7, 100);
    std::vector<double> want;
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x.data() + r * kCols;
      const std::vector<double> added = adapter.of(row);
      for (size_t n = 0; n < kOutputs; ++n) {
        want.push_back(before[want.size()] + product_of(w, row, static_cast<int64_t>(n)) +
                       added[n]);
      }
    }
    at_every_isa([&] {
      for (const Compute compute : kLowRankComputes) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << name_of(compute));
        std::vector<float> y = before;
        LinearInput input;
        input.assign(x.data(), rows, kCols);
        linear(input, {.weight = w.view, .y = y.data(), .add = true, .low_rank = &adapter.low_rank},
               compute);
        const double share = compute == Compute::kF32 ? 1e-5 : 0.02;
        for (size_t i = 0; i < want.size(); ++i) {
          ASSERT_NEAR(y[i], want[i], share * largest(want)) << "element " << i;
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

/// Adapters of different ranks on gate and up, on one of them, or on none.
TEST_P(LowRankTest, IsAddedBeforeTheActivation) {
  constexpr int64_t kCols = 64, kExpertFfn = 70;
  const auto [type, rank] = GetParam();
  const LowRankMatrix gate(DType::F32, kExpertFfn, kCols, 1, 0.1f),
      up(DType::F32, kExpertFfn, kCols, 2, 0.1f);
  const Adapter at_gate(type, kExpertFfn, kCols, rank, 3), at_up(type, kExpertFfn, kCols, 32, 5);
  const LowRankMatrix one = [] {
    LowRankMatrix m(DType::F32, kExpertFfn, kExpertFfn, 0, 0);
    for (int64_t i = 0; i < kExpertFfn; ++i) {
      reinterpret_cast<float*>(m.bytes.data())[i * kExpertFfn + i] = 1;
    }
    return m;
  }();
  for (const int64_t rows : {2, 40}) {
    const std::vector<float> x = random_floats(rows * kCols, 6, 0.05f);
    for (const auto& [g, u] :
         {std::pair(&at_gate, &at_up), {&at_gate, nullptr}, {nullptr, &at_up}}) {
      std::vector<double> want;
      for (int64_t r = 0; r < rows; ++r) {
        const float* row = x.data() + r * kCols;
        const std::vector<double> none(kExpertFfn, 0), to_gate = g == nullptr ? none : g->of(row),
                                                       to_up = u == nullptr ? none : u->of(row);
        for (size_t n = 0; n < kExpertFfn; ++n) {
          const double a = product_of(gate, row, static_cast<int64_t>(n)) + to_gate[n];
          const double b = product_of(up, row, static_cast<int64_t>(n)) + to_up[n];
          want.push_back(a / (1 + std::exp(-a)) * b);
        }
      }
      at_every_isa([&, g = g, u = u] {
        for (const Compute compute : kLowRankComputes) {
          SCOPED_TRACE(testing::Message() << rows << " rows, " << name_of(compute));
          LinearInput input, inner;
          input.assign(x.data(), rows, kCols);
          linear_swiglu(input,
                        {gate.view, up.view, g == nullptr ? nullptr : &g->low_rank,
                         u == nullptr ? nullptr : &u->low_rank},
                        inner, compute);
          std::vector<float> y(want.size());
          linear(inner, {.weight = one.view, .y = y.data()}, compute);
          const double share = compute == Compute::kF32 ? 1e-5 : 0.04;
          for (size_t i = 0; i < want.size(); ++i) {
            ASSERT_NEAR(y[i], want[i], share * largest(want)) << "element " << i;
          }
        }
      });
      if (HasFatalFailure()) return;
    }
  }
}

/// NaN in a damaged adapter affects only its own output. The smallest values, whose scale has
/// hardly a digit, stay within their byte.
TEST(PackedOutputsTest, WhatIsNoNumberIsSeenInItsOutput) {
  constexpr int64_t kOutputs = 4, kRank = 3;
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {none, std::numeric_limits<float>::infinity(), 2e-43f}) {
    LowRankMatrix b(DType::F32, kOutputs, kRank, 5);
    std::fill_n(reinterpret_cast<float*>(b.bytes.data()) + kRank, kRank, bad);
    const PackedOutputs packed(b.view);
    std::array<float, 16> scales;
    std::memcpy(scales.data(), packed.tile(0) + 512, sizeof scales);
    for (size_t n = 0; n < kOutputs; ++n) EXPECT_EQ(std::isnan(scales[n]), n == 1 && !(bad < 1));
    EXPECT_EQ(packed.tile(0)[4], bad < 1 ? 128 + 127 : 128);  // output 1, the first of its rank
  }
}

INSTANTIATE_TEST_SUITE_P(TypesAndRanks, LowRankTest,
                         testing::Values(LowRankCase{DType::F32, 4}, LowRankCase{DType::BF16, 40},
                                         LowRankCase{DType::Q8_0, 64}),
                         [](const auto& test) {
                           return std::string(name_of(test.param.type)) + "_rank" +
                                  std::to_string(test.param.rank);
                         });

}  // namespace
}  // namespace longhaul
