// linear() and linear_swiglu() with every stored type and instruction set, compared with a double
// loop over the stored bytes. Products are deeper than one stretch of expanded columns (2,048).

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "isa_fixture.h"
#include "ops/matmul/linear.h"
#include "ops/random_floats.h"
#include "reference_weights.h"

namespace longhaul {
namespace {

using testing_support::random_floats;

struct Weights {
  std::vector<uint8_t> bytes;
  TensorView view;            ///< [outputs, cols]
  std::vector<float> values;  ///< the weights as read by weight_at()

  Weights(DType type, int64_t outputs, int64_t cols, uint32_t seed)
      : bytes(random_weights(type, outputs * cols, seed)),
        values(static_cast<size_t>(outputs * cols)) {
    view.data = reinterpret_cast<const std::byte*>(bytes.data());
    view.type = type;
    view.rank = 2;
    view.shape = {outputs, cols, 1, 1};
    const DTypeTraits& t = traits(type);
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t block = i / static_cast<size_t>(t.block_size);
      values[i] = static_cast<float>(
          weight_at(type, bytes.data() + block * static_cast<size_t>(t.block_bytes),
                    static_cast<int>(i % static_cast<size_t>(t.block_size))));
    }
  }
};

/// x W^T [rows, outputs] in double, and the root of the sum of the squared terms. If every term is
/// rounded by the share r, the sum changes by a few r times this root.
struct Products {
  std::vector<double> sum, spread;

  Products(const std::vector<float>& x, const Weights& w, int64_t rows) {
    const int64_t outputs = w.view.rows(), cols = w.view.cols();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t n = 0; n < outputs; ++n) {
        const float *a = x.data() + r * cols, *b = w.values.data() + n * cols;
        double total = 0, squares = 0;
        for (int64_t k = 0; k < cols; ++k) {
          const double term = double{a[k]} * double{b[k]};
          total += term;
          squares += term * term;
        }
        sum.push_back(total);
        spread.push_back(std::sqrt(squares));
      }
    }
  }
};

/// Relative error of x and weights after rounding, as a share of Products::spread, for several
/// standard deviations. Omitting one of the 136 bf16 column tiles below would change sums by 0.08.
/// Omitting one of the 34 int16 or 68 int8 tiles would change them by more.
double tolerance(DType type, int64_t rows, Compute compute) {
  const std::string product = product_name(compute);
  if (rows <= kMatvecMaxRows && compute != Compute::kF32) {
    return is_block_type(type) ? 0.03 : 1e-4;  // x in int8, or all in f32
  }
  if (rows <= kMatvecMaxRows || product == "f32") return 1e-4;
  // All weights of a ternary block have one magnitude, which bf16 rounds equally: errors are
  // correlated.
  const double in_step = type == DType::TQ1_0 || type == DType::TQ2_0 ? 1.5 : 1;
  return in_step * (product == "int8" ? 0.06 : product == "int16" ? 0.01 : 0.012);
}

constexpr Compute kComputes[] = {Compute::kBest, Compute::kInt8, Compute::kF32};

class LinearDeepTest : public testing::TestWithParam<int> {
 protected:
  DType type() const { return static_cast<DType>(GetParam()); }
};

void expect_linear(const Weights& w, const std::vector<float>& x, int64_t rows,
                   const Products& want, Compute compute, bool add) {
  const int64_t outputs = w.view.rows(), stride = outputs + 3;
  const std::vector<float> bias = random_floats(outputs, 7);
  const std::vector<float> before = random_floats(rows * stride, 8);
  std::vector<float> y = before;
  LinearInput input;
  input.assign(x.data(), rows, w.view.cols());
  linear(input,
         {.weight = w.view, .y = y.data(), .y_stride = stride, .bias = bias.data(), .add = add},
         compute);
  const double share = tolerance(w.view.type, rows, compute);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t n = 0; n < stride; ++n) {
      const size_t at = static_cast<size_t>(r * stride + n);
      if (n >= outputs) {
        ASSERT_EQ(y[at], before[at]) << "beyond the outputs of row " << r;
        continue;
      }
      const size_t i = static_cast<size_t>(r * outputs + n);
      const double sum = want.sum[i] + static_cast<double>(bias[static_cast<size_t>(n)]) +
                         (add ? static_cast<double>(before[at]) : 0);
      ASSERT_NEAR(static_cast<double>(y[at]), sum, share * want.spread[i] + 1e-5)
          << "row " << r << " output " << n;
    }
  }
}

TEST_P(LinearDeepTest, EqualsTheDoubleLoop) {
  // The last shape has a part with fewer columns than a tile, an odd number if the type allows it.
  const std::array<std::array<int64_t, 3>, 6> kShapes = {
      {{9, 33, 256},
       {37, 130, 2304},
       {33, 47, 4352},
       {3, 5, 2304},
       {8, 47, 4352},
       {17, 35, 2048 + traits(type()).block_size}}};
  for (const auto& [rows, outputs, cols] : kShapes) {
    const Weights w(type(), outputs, cols, 5);
    const std::vector<float> x = random_floats(rows * cols, 9);
    const Products want(x, w, rows);
    at_every_isa([&, rows = rows] {
      for (const Compute compute : kComputes) {
        for (const bool add : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << rows << " rows, " << w.view.rows() << " outputs, " << w.view.cols()
                       << " columns, " << name_of(compute) << ", add " << add);
          expect_linear(w, x, rows, want, compute, add);
          if (HasFatalFailure()) return;
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

TensorView f32_view(const std::vector<float>& values, int64_t cols) {
  TensorView view;
  view.data = reinterpret_cast<const std::byte*>(values.data());
  view.type = DType::F32;
  view.rank = 2;
  view.shape = {static_cast<int64_t>(values.size()) / cols, cols, 1, 1};
  return view;
}

/// Identity weights [n, n].
std::vector<float> identity(int64_t n) {
  std::vector<float> values(static_cast<size_t>(n * n), 0.0f);
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i * n + i)] = 1;
  return values;
}

/// The activations of linear_swiglu(), in the form that it chose.
std::vector<float> read_out(LinearInput& inner, Compute compute) {
  const std::vector<float> one = identity(inner.cols());
  std::vector<float> y(static_cast<size_t>(inner.rows() * inner.cols()));
  linear(inner, {.weight = f32_view(one, inner.cols()), .y = y.data()}, compute);
  return y;
}

/// Error of storing each row's activations in integer steps up to the largest: half a step, plus
/// the error of the largest value.
std::vector<double> stored_errors(const Products& gate, const Products& up, int64_t rows,
                                  Compute compute) {
  const std::string product = rows > kMatvecMaxRows ? product_name(compute) : "f32";
  const double share = product == "int8" ? 0.6 / 127 : product == "int16" ? 0.6 / 4095 : 0;
  const size_t ffn = gate.sum.size() / static_cast<size_t>(rows);
  std::vector<double> errors(static_cast<size_t>(rows), 0);
  for (size_t i = 0; i < gate.sum.size(); ++i) {
    const double inner = gate.sum[i] / (1 + std::exp(-gate.sum[i])) * up.sum[i];
    errors[i / ffn] = std::max(errors[i / ffn], share * std::abs(inner));
  }
  return errors;
}

void expect_swiglu(const std::vector<float>& y, const Products& gate, const Products& up,
                   double share, const std::vector<double>& errors) {
  for (size_t i = 0; i < y.size(); ++i) {
    const double a = gate.sum[i], b = up.sum[i], silu = a / (1 + std::exp(-a));
    const double stored = errors[i / (y.size() / errors.size())];
    const double gate_error = share * gate.spread[i], up_error = share * up.spread[i];
    // silu' is at most 1.1. The product itself may be stored in bf16.
    const double error = 1.1 * gate_error * (std::abs(b) + up_error) + std::abs(silu) * up_error +
                         std::abs(silu * b) / 256 + stored + 1e-5;
    ASSERT_NEAR(static_cast<double>(y[i]), silu * b, error) << "element " << i;
  }
}

TEST_P(LinearDeepTest, SwigluEqualsTheDoubleLoop) {
  constexpr std::array<std::array<int64_t, 3>, 4> kShapes = {
      {{9, 33, 256}, {37, 130, 2304}, {33, 47, 4352}, {3, 70, 2304}}};
  for (const auto& [rows, ffn, cols] : kShapes) {
    const Weights gate(type(), ffn, cols, 1), up(type(), ffn, cols, 2);
    double squares = 0;
    for (const float value : gate.values) squares += double{value} * double{value};
    // gates of about 2, where silu is neither 0 nor x
    const double scale = 2 / std::sqrt(squares / static_cast<double>(ffn));
    const std::vector<float> x = random_floats(rows * cols, 9, static_cast<float>(scale));
    const Products gates(x, gate, rows), ups(x, up, rows);
    at_every_isa([&, rows = rows, cols = cols] {
      for (const Compute compute : kComputes) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << gate.view.rows() << " wide, "
                                        << cols << " columns, " << name_of(compute));
        LinearInput input, inner;
        input.assign(x.data(), rows, cols);
        linear_swiglu(input, {gate.view, up.view}, inner, compute);
        ASSERT_EQ(inner.rows(), rows);
        const std::vector<float> y = read_out(inner, compute);
        expect_swiglu(y, gates, ups, tolerance(type(), rows, compute),
                      stored_errors(gates, ups, rows, compute));
        if (HasFatalFailure()) return;
      }
    });
    if (HasFatalFailure()) return;
  }
}

/// The largest sums that an integer tile can reach.
TEST(LinearDeep, ConstantRowsDoNotOverflow) {
  constexpr int64_t kRows = 9, kCols = 2304;
  for (const float weight : {1.0f, -1.0f}) {
    const std::vector<float> w(static_cast<size_t>(3 * kCols), weight);
    for (const float value : {1.0f, -1.0f}) {
      const std::vector<float> x(static_cast<size_t>(kRows * kCols), value);
      at_every_isa([&] {
        for (const Compute compute : kComputes) {
          std::vector<float> y(static_cast<size_t>(kRows * 3));
          LinearInput input;
          input.assign(x.data(), kRows, kCols);
          linear(input, {.weight = f32_view(w, kCols), .y = y.data()}, compute);
          for (const float sum : y) ASSERT_NEAR(sum, value * weight * kCols, 0.01);
        }
      });
    }
  }
}

TEST(LinearDeep, WhatIsNotANumberStaysNone) {
  constexpr int64_t kRows = 9, kCols = 256;
  const std::vector<float> ones(static_cast<size_t>(3 * kCols), 1.0f);
  for (const size_t at : {size_t{0}, size_t{63}, size_t{200}}) {
    std::vector<float> x(static_cast<size_t>(kRows * kCols), 1.0f), w = ones;
    x[at] = w[at] = NAN;
    at_every_isa([&] {
      for (const Compute compute : kComputes) {
        std::vector<float> y(static_cast<size_t>(kRows * 3)), z = y;
        LinearInput input;
        input.assign(x.data(), kRows, kCols);
        linear(input, {.weight = f32_view(ones, kCols), .y = y.data()}, compute);
        ASSERT_TRUE(std::isnan(y[0])) << name_of(compute);
        ASSERT_NEAR(y[3], kCols, 0.01);
        linear(input, {.weight = f32_view(w, kCols), .y = z.data()}, compute);
        ASSERT_TRUE(std::isnan(z[3])) << name_of(compute);
        ASSERT_NEAR(z[4], kCols, 0.01);
      }
    });
  }
}

/// Rows in one form cannot serve another. Rows filled in tiles equal rows given as f32.
TEST(LinearDeep, AnInputServesEveryCompute) {
  constexpr int64_t kRows = 35, kCols = 200, kOutputs = 40;
  const std::vector<float> x = random_floats(kRows * kCols, 1);
  const std::vector<float> w = random_floats(kOutputs * kCols, 2);
  const TensorView weight = f32_view(w, kCols);
  at_every_isa([&] {
    LinearInput shared;
    shared.assign(x.data(), kRows, kCols);
    for (const Compute compute : kComputes) {
      std::vector<float> y(static_cast<size_t>(kRows * kOutputs)), alone = y, filled = y;
      linear(shared, {.weight = weight, .y = y.data()}, compute);
      LinearInput fresh, filling;
      fresh.assign(x.data(), kRows, kCols);
      linear(fresh, {.weight = weight, .y = alone.data()}, compute);
      EXPECT_EQ(y, alone) << name_of(compute);
      filling.fill(kRows, kCols, compute, [&](int64_t begin, int64_t count, float* out) {
        std::copy_n(x.data() + begin * kCols, count * kCols, out);
      });
      linear(filling, {.weight = weight, .y = filled.data()}, compute);
      EXPECT_EQ(filled, alone) << name_of(compute);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllTypes, LinearDeepTest, testing::Range(0, kDTypeCount),
                         [](const testing::TestParamInfo<int>& test) {
                           return std::string(name_of(static_cast<DType>(test.param)));
                         });

}  // namespace
}  // namespace longhaul
