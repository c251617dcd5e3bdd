#include "ops/matmul/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "ops/core/convert.h"
#include "ops/core/isa/isa.h"
#include "ops/isa_fixture.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

struct LinearMatrix {
  std::vector<std::byte> bytes;
  TensorView view;
};

/// Random weights stored as F32, BF16 or Q8_0. Other types are compared in the tests of dequantize
/// and matvec.
LinearMatrix make_weights(DType type, int64_t rows, int64_t cols, std::mt19937& random) {
  LinearMatrix m;
  m.bytes.resize(static_cast<size_t>(rows) * bytes_of(type, cols));
  std::normal_distribution<float> normal;
  std::vector<float> row(static_cast<size_t>(cols));
  for (int64_t r = 0; r < rows; ++r) {
    for (float& x : row) x = normal(random);
    std::byte* at = m.bytes.data() + static_cast<size_t>(r) * bytes_of(type, cols);
    if (type == DType::F32) std::memcpy(at, row.data(), row.size() * 4);
    if (type == DType::BF16) f32_to_bf16(row.data(), cols, reinterpret_cast<bf16_t*>(at));
    if (type == DType::Q8_0) quantize_q8_0(row.data(), cols, at);
  }
  m.view.data = m.bytes.data();
  m.view.type = type;
  m.view.rank = 2;
  m.view.shape = {rows, cols, 1, 1};
  return m;
}

class LinearTest : public testing::TestWithParam<DType> {
 protected:
  void TearDown() override { set_isa(best_isa()); }
};

TEST_P(LinearTest, MatchesADoubleLoopForDecodeAndManyRows) {
  std::mt19937 random(3);
  const int64_t cols = 96, outputs = 200;
  const LinearMatrix w = make_weights(GetParam(), outputs, cols, random);
  std::vector<float> weights(static_cast<size_t>(outputs * cols));
  for (int64_t r = 0; r < outputs; ++r) {
    dequantize_row(w.view.type, w.view.row(r), cols, weights.data() + r * cols);
  }
  std::normal_distribution<float> normal;
  std::vector<float> bias(static_cast<size_t>(outputs));
  for (float& b : bias) b = normal(random);
  for (const int64_t rows : {1, 8, 9, 37, 130}) {
    for (const Compute compute : {Compute::kBest, Compute::kInt8, Compute::kF32}) {
      std::vector<float> x(static_cast<size_t>(rows * cols));
      for (float& e : x) e = normal(random);
      std::vector<float> y(static_cast<size_t>(rows * (outputs + 3)), NAN);
      LinearInput input;
      input.assign(x.data(), rows, cols);
      linear(input, {w.view, y.data(), outputs + 3, bias.data()}, compute);
      // bf16 rounds to 8 bits, int8 to a 127th of the largest: errors of a sum of `cols` terms.
      const bool int8 = product_name(compute) == std::string("int8");
      const double tolerance = compute == Compute::kF32 ? 1e-4 : int8 ? 0.6 : 0.25;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t n = 0; n < outputs; ++n) {
          double want = bias[static_cast<size_t>(n)];
          for (int64_t k = 0; k < cols; ++k) {
            want += double{x[static_cast<size_t>(r * cols + k)]} *
                    weights[static_cast<size_t>(n * cols + k)];
          }
          ASSERT_NEAR(y[static_cast<size_t>(r * (outputs + 3) + n)], want, tolerance)
              << rows << " rows, row " << r << " output " << n;
        }
      }
    }
  }
}

TEST_P(LinearTest, SeveralMatricesAndPanelsGiveWhatOneDoes) {
  std::mt19937 random(4);
  const int64_t cols = 64, outputs = 150, rows = 20;
  const LinearMatrix w = make_weights(GetParam(), outputs, cols, random);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(rows * cols));
  for (float& e : x) e = normal(random);
  std::vector<float> whole(static_cast<size_t>(rows * outputs)), parts(whole.size());
  LinearInput input;
  input.assign(x.data(), rows, cols);
  linear(input, {w.view, whole.data()}, Compute::kBest);
  const LinearJob jobs[] = {{w.view.slice_rows(0, 70), parts.data(), outputs},
                            {w.view.slice_rows(70, 80), parts.data() + 70, outputs}};
  linear(input, jobs, Compute::kBest);
  for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(whole[i], parts[i], 1e-4);
}

/// All outputs of `rows` decode rows, including the rows of swiglu and of the following matrix.
std::vector<float> decode_outputs(const std::vector<float>& x, int64_t rows, int64_t cols,
                                  const LinearMatrix& w, const LinearMatrix& down,
                                  Compute compute) {
  const int64_t outputs = w.view.rows();
  std::vector<float> bias(static_cast<size_t>(outputs), 0.25f);
  std::vector<float> y(static_cast<size_t>(rows * outputs), 1.0f);
  std::vector<float> back(static_cast<size_t>(rows * cols), NAN);
  LinearInput input, inner;
  input.set_row_kind(RowKind::kDecode);
  input.fill(rows, cols, compute, [&](int64_t begin, int64_t count, float* out) {
    std::copy_n(x.data() + begin * cols, count * cols, out);
  });
  linear(input, {.weight = w.view, .y = y.data(), .bias = bias.data(), .add = true}, compute);
  linear_swiglu(input, {.gate = w.view, .up = w.view, .up_bias = bias.data()}, inner, compute);
  linear(inner, LinearJob{.weight = down.view, .y = back.data()}, compute);
  std::vector<float> all;  // row by row
  for (int64_t r = 0; r < rows; ++r) {
    all.insert(all.end(), y.begin() + r * outputs, y.begin() + (r + 1) * outputs);
    all.insert(all.end(), back.begin() + r * cols, back.begin() + (r + 1) * cols);
  }
  return all;
}

TEST_P(LinearTest, ADecodeRowIsTheSameAloneAndAmongOthers) {
  std::mt19937 random(8);
  const int64_t cols = 96, outputs = 160, most = 65;
  const LinearMatrix w = make_weights(GetParam(), outputs, cols, random);
  const LinearMatrix down = make_weights(GetParam(), cols, outputs, random);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(most * cols));
  for (float& e : x) e = normal(random);
  at_every_isa([&] {
    for (const Compute compute : {Compute::kBest, Compute::kInt8, Compute::kF32}) {
      std::vector<float> alone;
      for (int64_t r = 0; r < most; ++r) {
        const std::vector<float> row(x.begin() + r * cols, x.begin() + (r + 1) * cols);
        const std::vector<float> y = decode_outputs(row, 1, cols, w, down, compute);
        alone.insert(alone.end(), y.begin(), y.end());
      }
      for (const int64_t rows : {2, 7, 8, 9, 17, 64, 65}) {
        const std::vector<float> y = decode_outputs(x, rows, cols, w, down, compute);
        EXPECT_EQ(std::memcmp(y.data(), alone.data(), y.size() * sizeof(float)), 0)
            << rows << " rows, " << name_of(compute);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Types, LinearTest, testing::Values(DType::F32, DType::BF16, DType::Q8_0),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// Query, key and value of a layer may have different types. In reference arithmetic none of them
/// uses int8 activations, in any order.
TEST(Linear, ReferenceArithmeticIsThatOfEveryMatrixWhenTypesAreMixed) {
  std::mt19937 random(6);
  const int64_t cols = 96, outputs = 40;
  const LinearMatrix plain = make_weights(DType::BF16, outputs, cols, random);
  const LinearMatrix blocks = make_weights(DType::Q8_0, outputs, cols, random);
  std::normal_distribution<float> normal;
  for (const auto& [first, second] : {std::pair(&plain, &blocks), std::pair(&blocks, &plain)}) {
    for (const int64_t rows : {int64_t{1}, kMatvecMaxRows}) {
      std::vector<float> x(static_cast<size_t>(rows * cols));
      for (float& e : x) e = normal(random);
      std::vector<float> y(static_cast<size_t>(2 * rows * outputs), NAN);
      LinearInput input;
      input.assign(x.data(), rows, cols);
      const LinearJob jobs[] = {{first->view, y.data()}, {second->view, y.data() + rows * outputs}};
      linear(input, jobs, Compute::kF32);
      for (const LinearJob& job : jobs) {
        std::vector<float> weight(static_cast<size_t>(cols));
        for (int64_t n = 0; n < outputs; ++n) {
          dequantize_row(job.weight.type, job.weight.row(n), cols, weight.data());
          for (int64_t r = 0; r < rows; ++r) {
            double want = 0;
            for (int64_t k = 0; k < cols; ++k) {
              want += double{x[static_cast<size_t>(r * cols + k)]} * weight[static_cast<size_t>(k)];
            }
            // Rounding x to int8 would change a sum by about 0.05.
            ASSERT_NEAR(job.y[r * outputs + n], want, 1e-4)
                << name_of(job.weight.type) << " row " << r << " output " << n;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
