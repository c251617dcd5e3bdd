// Products of 5 to 64 rows compared with the double loop over x in bf16.

#include <cmath>

#include "double_products.h"
#include "ops/matmul/row_tiles.gpu.h"
#include "weights_on_device.h"

namespace longhaul::cuda {
namespace {

struct TileCase {
  int64_t cols, rows;
  std::vector<int64_t> outputs;  ///< per matrix
  bool bias = false, add = false;
};

struct TileWeight {
  Matrix weight;
  HostMatrix host;
  std::vector<float> before;
  OnDevice<float> y;
};

std::vector<uint16_t> in_bf16(const std::vector<float>& x) {
  std::vector<uint16_t> rounded;
  for (const float each : x) rounded.push_back(longhaul::f32_to_bf16(each));
  return rounded;
}

/// x in bf16, and y of each matrix.
class TileProducts {
 public:
  TileProducts(DType type, const TileCase& c)
      : c_(c),
        x_(random_floats(static_cast<size_t>(c.rows * c.cols), 11)),
        x_there_(in_bf16(x_)),
        bias_(random_floats(5000, 12)),
        bias_there_(bias_, 1) {
    for (const int64_t outputs : c.outputs) {
      HostMatrix host(type, outputs, c.cols);
      Matrix weight = on_device(host.view, size_t{1} << 20);
      std::vector<float> before = random_floats(static_cast<size_t>(c.rows * outputs), 13);
      OnDevice<float> y(before, 1);
      all_.push_back({std::move(weight), std::move(host), std::move(before), std::move(y)});
    }
  }

  /// Multiplies the first `rows` rows. Returns y of all matrices.
  std::vector<std::vector<float>> run(int64_t rows) {
    const MatvecInput input{.x = x_there_.data(), .bf16 = true, .rows = rows, .cols = c_.cols};
    std::vector<MatvecJob> jobs;
    for (TileWeight& each : all_) {
      each.y.set(each.before);
      jobs.push_back({.weight = each.weight.view(),
                      .y = each.y.data(),
                      .bias = c_.bias ? bias_there_.data() : nullptr,
                      .add = c_.add});
    }
    const TilePlan plan = tile_plan(input, jobs);
    const OnDevice<float> partial(plan.floats);
    const OnDevice<int> counters(std::vector<int>(plan.counters, 0));
    multiply_tiles(nullptr, input, jobs, plan, partial.data(), counters.data());
    std::vector<std::vector<float>> got;
    for (const TileWeight& each : all_) got.push_back(each.y.get());
    EXPECT_EQ(counters.get(), std::vector<int>(plan.counters, 0));
    return got;
  }

  void expect_double_loop() {
    // Largest relative error of a rounding to bf16. Scales and weights are rounded.
    constexpr double kBf16 = 1.0 / 256;
    double squares = 0, count = 0;
    const std::vector<std::vector<float>> got = run(c_.rows);
    std::vector<double> rounded;
    for (const float x : x_)
      rounded.push_back(static_cast<double>(bf16_to_f32(longhaul::f32_to_bf16(x))));
    std::vector<float> weights(static_cast<size_t>(c_.cols));
    for (size_t m = 0; m < all_.size(); ++m) {
      const int64_t outputs = c_.outputs[m];
      for (int64_t n = 0; n < outputs; ++n) {
        dequantize_rows(all_[m].host.view, n, 1, weights.data());
        for (int64_t r = 0; r < c_.rows; ++r) {
          Product p = product(weights, rounded.data() + r * c_.cols);
          const auto at = static_cast<size_t>(r * outputs + n);
          if (c_.bias) p.sum += static_cast<double>(bias_[static_cast<size_t>(n)]);
          if (c_.add) p.sum += static_cast<double>(all_[m].before[at]);
          const double apart = (static_cast<double>(got[m][at]) - p.sum) / p.size;
          ASSERT_LT(std::abs(apart), 2 * kBf16)
              << "row " << r << " output " << n << " of " << outputs << 'x' << c_.cols;
          squares += apart * apart;
          ++count;
        }
      }
    }
    // Rounding of single weights averages out; a group of 16 columns at a wrong place does not.
    if (c_.cols >= 1024) EXPECT_LT(std::sqrt(squares / count), kBf16 / 5);
  }

 private:
  TileCase c_;
  std::vector<float> x_;
  OnDevice<uint16_t> x_there_;
  std::vector<float> bias_;
  OnDevice<float> bias_there_;
  std::vector<TileWeight> all_;
};

class CudaRowTiles : public testing::TestWithParam<DType> {};

TEST_P(CudaRowTiles, EqualTheDoubleLoop) {
  const int64_t block = traits(GetParam()).block_size, odd = 3 * block;
  ASSERT_TRUE(multiplies_in_tiles(GetParam(), 64));
  for (const int64_t rows : {1, 5, 8, 9, 16, 17, 32, 33, 64}) {
    TileProducts(GetParam(), {.cols = odd, .rows = rows, .outputs = {33}}).expect_double_loop();
  }
  for (const int64_t rows : {9, 31, 64}) {
    TileProducts(GetParam(), {.cols = 1024, .rows = rows, .outputs = {257, 100}, .bias = true})
        .expect_double_loop();
    TileProducts(GetParam(), {.cols = 4096, .rows = rows, .outputs = {130}, .add = true})
        .expect_double_loop();
  }
}

/// The order of the sums does not depend on the other rows.
TEST_P(CudaRowTiles, GiveARowTheSameBitsInEveryBatch) {
  const std::vector<int64_t> outputs = {300, 64};
  TileProducts products(GetParam(), {.cols = 2048, .rows = 64, .outputs = outputs});
  const auto all = products.run(64);
  for (const int64_t rows : {9, 17, 40}) {
    const auto some = products.run(rows);
    for (size_t m = 0; m < outputs.size(); ++m) {
      for (size_t i = 0; i < static_cast<size_t>(rows * outputs[m]); ++i) {
        ASSERT_EQ(some[m][i], all[m][i]) << rows << " rows, value " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaRowTiles,
                         testing::Values(DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                                         DType::Q8_0, DType::Q2_K, DType::Q3_K, DType::Q4_K,
                                         DType::Q5_K, DType::Q6_K),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace longhaul::cuda
