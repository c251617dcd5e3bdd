#include "ops/matmul/matvec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "isa_fixture.h"
#include "reference_weights.h"

namespace longhaul {
namespace {

/// A weight matrix at an odd address, like in a mapped file.
class MatvecMatrix {
 public:
  MatvecMatrix(DType type, int64_t rows, int64_t cols, uint32_t seed) {
    const std::vector<uint8_t> weights = random_weights(type, rows * cols, seed);
    bytes_.resize(weights.size() + 1);
    std::copy(weights.begin(), weights.end(), bytes_.begin() + 1);
    view_.data = reinterpret_cast<const std::byte*>(bytes_.data() + 1);
    view_.type = type;
    view_.rank = 2;
    view_.shape = {rows, cols, 1, 1};
    const DTypeTraits& t = traits(type);
    for (int64_t i = 0; i < rows * cols; ++i) {
      values_.push_back(weight_at(type, bytes_.data() + 1 + i / t.block_size * t.block_bytes,
                                  static_cast<int>(i % t.block_size)));
    }
  }

  const TensorView& view() const { return view_; }
  const double* row(int64_t r) const { return values_.data() + r * view_.cols(); }

 private:
  std::vector<uint8_t> bytes_;
  std::vector<double> values_;  ///< read one by one, which takes longer than a product
  TensorView view_;
};

std::vector<float> random_activations(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.2f, 1);
  std::vector<float> x(static_cast<size_t>(count));
  for (float& value : x) value = normal(random);
  return x;
}

/// Rounds 32 elements of x to multiples of `step`.
void round_to(double step, float inverse, const float* x, double* y) {
  for (int i = 0; i < 32; ++i) y[i] = std::nearbyint(static_cast<float>(x[i] * inverse)) * step;
}

float largest_of_32(const float* x) {
  float amax = 0;
  for (int i = 0; i < 32; ++i) amax = std::max(amax, std::abs(x[i]));
  return amax;
}

/// The int8 rounding of x in blocks of 32, as documented in ops/matmul/matvec.h.
std::vector<double> rounded_to_int8(const std::vector<float>& x) {
  std::vector<double> y(x.size());
  for (size_t b = 0; b < x.size(); b += 32) {
    const float amax = largest_of_32(&x[b]);
    round_to(static_cast<double>(amax) / 127, amax > 0 ? 127.0f / amax : 0.0f, &x[b], &y[b]);
  }
  return y;
}

/// Like rounded_to_int8(), with steps that are integer multiples of 1 / kMostFactor of the largest
/// step of 256.
std::vector<double> rounded_to_factors(const std::vector<float>& x) {
  std::vector<double> y(x.size());
  for (size_t g = 0; g < x.size(); g += 256) {
    float most = 0;
    for (size_t b = g; b < g + 256; b += 32) most = std::max(most, largest_of_32(&x[b]));
    if (most <= 1e-33f) continue;
    const float scale = most / (127.0f * kMostFactor);
    for (size_t b = g; b < g + 256; b += 32) {
      const float factor = std::nearbyint(largest_of_32(&x[b]) * (kMostFactor / most) + 0.4999f);
      const float step = scale * factor;
      round_to(static_cast<double>(scale) * static_cast<double>(factor),
               step > 0 ? 1.0f / step : 0.0f, &x[b], &y[b]);
    }
  }
  return y;
}

/// Compares y[m, stride * n] with a double loop. The tolerance is f32 rounding of the terms.
void expect_products(const MatvecMatrix& w, const std::vector<double>& x, const float* bias,
                     const std::vector<float>& y, int64_t y_stride) {
  const int64_t rows = w.view().rows(), cols = w.view().cols();
  for (int64_t m = 0; m < static_cast<int64_t>(x.size()) / cols; ++m) {
    for (int64_t n = 0; n < rows; ++n) {
      double sum = bias != nullptr ? static_cast<double>(bias[n]) : 0, terms = 1e-6;
      const double *weights = w.row(n), *of_x = x.data() + m * cols;
      for (int64_t k = 0; k < cols; ++k) {
        const double term = weights[k] * of_x[k];
        sum += term;
        terms += std::abs(term);
      }
      const double got = static_cast<double>(y[static_cast<size_t>(m * y_stride + n)]);
      ASSERT_NEAR(got, sum, 2e-6 * terms) << "row " << m << " output " << n;
    }
  }
}

class MatvecTest : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void SetUp() override { set_isa(static_cast<Isa>(std::get<1>(GetParam()))); }
  DType type() const { return static_cast<DType>(std::get<0>(GetParam())); }

  std::vector<double> as_read(const std::vector<float>& x) const {
    if (reads_factored(type())) return rounded_to_factors(x);
    return is_block_type(type()) ? rounded_to_int8(x) : std::vector<double>(x.begin(), x.end());
  }
  /// Column counts that leave every kind of tail.
  std::vector<int64_t> column_counts() const {
    switch (traits(type()).block_size) {
      case 1:
        return {1, 31, 32, 100, 576};
      case 32:
        return {32, 96, 224, 256, 576};
      default:
        return {256, 768};
    }
  }

 private:
  RestoreIsaAndThreads restore_;
};

TEST_P(MatvecTest, EqualsTheDoubleLoop) {
  ActivationRows activations;
  for (const int64_t cols : column_counts()) {
    const MatvecMatrix w(type(), 13, cols, 7);
    for (const int64_t m : {1, 2, 3, 4, 7, 8}) {
      const std::vector<float> x = random_activations(m * cols, 11);
      std::vector<float> y(static_cast<size_t>(m * 13), NAN);
      activations.assign(x.data(), m, cols);
      matvec(w.view(), activations, y.data());
      SCOPED_TRACE("cols " + std::to_string(cols) + " rows of x " + std::to_string(m));
      expect_products(w, as_read(x), nullptr, y, 13);
    }
  }
}

TEST_P(MatvecTest, SeveralMatricesShareARegionOnOneAndTwoThreads) {
  const int64_t cols = 512, m = 2;
  const MatvecMatrix query(type(), 331, cols, 1), key(type(), 57, cols, 2),
      value(DType::BF16, 57, cols, 3);
  const std::vector<float> x = random_activations(m * cols, 4), bias = random_activations(331, 5);
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    const int64_t stride = 331 + 57;  // query and key are parts of one fused output
    std::vector<float> fused(static_cast<size_t>(m * stride), NAN);
    std::vector<float> values(static_cast<size_t>(m * 57), NAN);
    ActivationRows activations;
    activations.assign(x.data(), m, cols);
    const MatvecJob jobs[] = {
        {.weight = query.view(), .y = fused.data(), .y_stride = stride, .bias = bias.data()},
        {.weight = key.view(), .y = fused.data() + 331, .y_stride = stride},
        {.weight = value.view(), .y = values.data()},
    };
    matvec(jobs, activations);
    expect_products(query, as_read(x), bias.data(), fused, stride);
    expect_products(value, std::vector<double>(x.begin(), x.end()), nullptr, values, 57);
    fused.erase(fused.begin(), fused.begin() + 331);
    expect_products(key, as_read(x), nullptr, fused, stride);
  }
}

/// The rows of a batch are replies of different users.
TEST_P(MatvecTest, ARowOfXIsTheSameAloneAndAmongOthers) {
  const int64_t most = 19, outputs = 13;
  std::vector<int64_t> counts = column_counts();
  counts.push_back(traits(type()).block_size == 1 ? 1043 : 2304);
  for (const int64_t cols : counts) {
    const MatvecMatrix w(type(), outputs, cols, 31);
    const std::vector<float> x = random_activations(most * cols, 32);
    const std::vector<float> bias = random_activations(outputs, 33);
    const auto products = [&](int64_t first, int64_t rows) {
      ActivationRows activations;
      activations.assign(x.data() + first * cols, rows, cols);
      std::vector<float> y(static_cast<size_t>(rows * outputs), NAN);
      const MatvecJob job{.weight = w.view(), .y = y.data(), .bias = bias.data()};
      matvec(std::span(&job, 1), activations);
      return y;
    };
    std::vector<float> alone;
    for (int64_t m = 0; m < most; ++m) {
      const std::vector<float> y = products(m, 1);
      alone.insert(alone.end(), y.begin(), y.end());
    }
    for (const int64_t rows : {2, 3, 4, 5, 6, 7, 8, 9, 17, 19}) {
      for (const int64_t first : {int64_t{0}, most - rows}) {
        const std::vector<float> y = products(first, rows);
        EXPECT_EQ(std::memcmp(y.data(), alone.data() + first * outputs, y.size() * sizeof(float)),
                  0)
            << "cols " << cols << " rows of x " << rows << " from " << first;
      }
    }
  }
}

/// Kernels may handle several rows at a time, and threads divide them arbitrarily.
TEST_P(MatvecTest, AnOutputIsTheSameWhicheverRowsStandBesideIt) {
  const int64_t cols = 768, rows = 203;
  const MatvecMatrix w(type(), rows, cols, 21);
  for (const int64_t m : {1, 4}) {
    const std::vector<float> x = random_activations(m * cols, 22);
    ActivationRows activations;
    activations.assign(x.data(), m, cols);
    std::vector<float> all(static_cast<size_t>(m * rows));
    matvec(w.view(), activations, all.data());
    for (const int64_t first : {1, 2, 3, 200}) {
      const int64_t count = std::min<int64_t>(rows - first, 6);
      TensorView some = w.view();
      some.data = w.view().row(first);
      some.shape[0] = count;
      std::vector<float> y(static_cast<size_t>(m * count), NAN);
      matvec(some, activations, y.data());
      for (int64_t i = 0; i < m * count; ++i) {
        const auto at = static_cast<size_t>(i / count * rows + first + i % count);
        EXPECT_EQ(y[static_cast<size_t>(i)], all[at]) << "output " << first + i % count;
      }
    }
  }
}

TEST_P(MatvecTest, RunsOfVeryDifferentSize) {
  const int64_t cols = 512;
  const MatvecMatrix w(type(), 5, cols, 9);
  std::vector<float> x = random_activations(cols, 23), y(5, NAN);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= std::pow(10.0f, -static_cast<float>(i / 32 % 7));
  ActivationRows activations;
  activations.assign(x.data(), 1, cols);
  matvec(w.view(), activations, y.data());
  expect_products(w, as_read(x), nullptr, y, 5);
}

TEST_P(MatvecTest, ZeroAndExtremeActivations) {
  const int64_t cols = 256;
  const MatvecMatrix w(type(), 5, cols, 9);
  std::vector<float> x(cols, 0.0f);
  ActivationRows activations;
  for (const float value : {0.0f, 1e30f, -1e-30f}) {
    std::fill(x.begin() + 64, x.end(), value);  // a whole run of the largest int8 of one sign
    std::vector<float> y(5, NAN);
    activations.assign(x.data(), 1, cols);
    matvec(w.view(), activations, y.data());
    expect_products(w, as_read(x), nullptr, y, 5);
  }
}

std::string test_name(const testing::TestParamInfo<std::tuple<int, int>>& info) {
  return std::string(name_of(static_cast<DType>(std::get<0>(info.param)))) + "_" +
         std::string(name_of(static_cast<Isa>(std::get<1>(info.param))));
}

INSTANTIATE_TEST_SUITE_P(AllTypes, MatvecTest,
                         testing::Combine(testing::Range(0, kDTypeCount),
                                          testing::Range(0, static_cast<int>(best_isa()) + 1)),
                         test_name);

/// Weights of a corrupt file produce such activations. The sums of their roundings once overflowed,
/// which ended the test under the undefined-behaviour sanitizer.
TEST(Matvec, ActivationsThatAreNoNumbersAreRoundedWithoutOverflow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  at_every_isa([&] {
    for (const float odd : {kInfinity, -kInfinity, std::nanf(""), 3e38f}) {
      std::vector<float> x(512, 1.0f);
      for (size_t i = 0; i < 256; ++i) x[i] = i % 5 == 0 ? 1.0f : odd;
      ActivationRows rows;
      rows.assign(x.data(), 1, 512);
      rows.quantize();
      const ActivationGroup& sound = rows.groups(0)[1];
      for (const float sum : sound.sum) EXPECT_NEAR(sum, 16.0f, 1e-4f);
      std::vector<float> y(8);
      for (const DType type : {DType::Q8_0, DType::Q4_K}) {
        const MatvecMatrix weights(type, 8, 512, 3);
        matvec(weights.view(), rows, y.data());  // the result is arbitrary: files may be corrupt
      }
    }
  });
}

}  // namespace
}  // namespace longhaul
