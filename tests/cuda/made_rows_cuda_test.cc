// Products of one row that convert it themselves, and the gated product, compared with double
// loops.

#include <string>

#include "double_products.h"
#include "ops/matmul/dequantize.h"
#include "ops/matmul/matvec.gpu.h"
#include "weights_on_device.h"

namespace longhaul::cuda {
namespace {

/// The kernel's normalised x, with each value in the kernel's order of operations. Sums of squares
/// of these values are exact in any order.
std::vector<float> normalised(const std::vector<float>& x, const std::vector<float>& norm,
                              float eps) {
  float sum = 0;
  for (const float v : x) sum += v * v;
  const float scale = 1.0f / std::sqrt(sum / static_cast<float>(x.size()) + eps);
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * norm[i];
  return y;
}

/// A row of `cols` elements that the product converts itself, with or without a norm.
void run_made(DType type, int64_t cols, bool with_norm) {
  constexpr float kEps = 1e-5f;
  const int64_t outputs = 77;
  const auto n = static_cast<size_t>(cols);
  const HostMatrix w(type, outputs, cols);
  const Matrix m = on_device(w.view, size_t{1} << 20);
  std::vector<float> x = random_floats(n, 61, 16);
  for (float& v : x) v = std::round(v) / 8;
  const std::vector<float> norm = random_floats(n, 62);
  const OnDevice<float> x_there(x), norm_there(norm), y(static_cast<size_t>(outputs));
  MatvecInput input{.x = x_there.data(), .rows = 1, .cols = cols, .made = true};
  if (with_norm) {
    input.norm = norm_there.data();
    input.eps = kEps;
  }
  if (!makes_row(1, cols, input.x, input.norm)) return;  // a small card
  const MatvecJob job{.weight = m.view(), .y = y.data()};
  matvec(nullptr, input, {&job, 1});
  const std::vector<float> got = y.get(), made = with_norm ? normalised(x, norm, kEps) : x;
  std::vector<double> row(made.begin(), made.end());
  if (is_block_type(type)) round_to_int8(row);
  std::vector<float> weights(n);
  for (int64_t i = 0; i < outputs; ++i) {
    dequantize_rows(w.view, i, 1, weights.data());
    const Product p = product(weights, row.data());
    ASSERT_NEAR(static_cast<double>(got[static_cast<size_t>(i)]), p.sum, 2e-6 * p.size + 1e-5)
        << "output " << i << " of " << cols << " columns";
  }
}

class CudaMadeRow : public testing::TestWithParam<DType> {};

TEST_P(CudaMadeRow, IsNormalisedAndRounded) {
  for (const int64_t cols : {256, 768, 2048, 4096, 8192, 14336}) {
    for (const bool with_norm : {false, true}) run_made(GetParam(), cols, with_norm);
  }
  if (traits(GetParam()).block_size <= 32) run_made(GetParam(), 96, true);
}

/// gated(gate x, up x) for rows of both kinds, compared with the double loop.
TEST_P(CudaMadeRow, GatesTwoProducts) {
  const int64_t outputs = 333;
  for (const int64_t cols : {256, 4096}) {
    for (const Gating& gating : {Gating{}, kClampedGating}) {
      const HostMatrix gate(GetParam(), outputs, cols, 3), up(GetParam(), outputs, cols, 4);
      const Matrix gate_there = on_device(gate.view, size_t{1} << 20),
                   up_there = on_device(up.view, size_t{1} << 20);
      std::vector<float> x = random_floats(static_cast<size_t>(cols), 63, 16);
      for (float& v : x) v = std::round(v) / 64;
      const OnDevice<float> x_there(x), y(static_cast<size_t>(outputs));
      const MatvecInput input{.x = x_there.data(), .rows = 1, .cols = cols, .made = true};
      const GatedMatvec job{gate_there.view(), up_there.view(), gating, y.data()};
      if (!gated_matvec(nullptr, input, job)) {
        EXPECT_GT(traits(GetParam()).block_size, 32);
        return;
      }
      const std::vector<float> got = y.get();
      std::vector<double> row(x.begin(), x.end());
      if (is_block_type(GetParam())) round_to_int8(row);
      std::vector<float> weights(static_cast<size_t>(cols));
      for (int64_t i = 0; i < outputs; ++i) {
        dequantize_rows(gate.view, i, 1, weights.data());
        const Product g = product(weights, row.data());
        dequantize_rows(up.view, i, 1, weights.data());
        const Product u = product(weights, row.data());
        float g_of = static_cast<float>(g.sum), u_of = static_cast<float>(u.sum), expected = 0;
        longhaul::swiglu(&g_of, &u_of, 1, 1, 1, &expected, gating);
        // The activation's slope is below 1.2.
        const double error =
            2e-6 * (1.2 * g.size * (std::abs(u.sum) + 1) + u.size * std::abs(g.sum));
        ASSERT_NEAR(got[static_cast<size_t>(i)], expected, error + 1e-5) << i << " of " << cols;
      }
    }
  }
}

TEST_P(CudaMadeRow, GatesOnlyPairsOfOneKind) {
  const DType other = GetParam() == DType::F32 ? DType::F16 : DType::F32;
  const HostMatrix gate(GetParam(), 16, 256, 3), up(other, 16, 256, 4),
      short_up(GetParam(), 8, 256, 4);
  const Matrix a = on_device(gate.view), b = on_device(up.view), c = on_device(short_up.view);
  const OnDevice<float> x(random_floats(256, 65)), y(16);
  const MatvecInput input{.x = x.data(), .rows = 1, .cols = 256, .made = true};
  EXPECT_FALSE(gated_matvec(nullptr, input, {a.view(), b.view(), {}, y.data()}));
  EXPECT_FALSE(gated_matvec(nullptr, input, {a.view(), c.view(), {}, y.data()}));
}

INSTANTIATE_TEST_SUITE_P(All, CudaMadeRow, testing::ValuesIn(device_types()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

/// Each product converts the previous product's output. Kernels start early.
TEST(CudaMadeRowChain, MakesRowsOfWhatTheKernelBeforeWrote) {
  const int64_t n = 2048, steps = 60;
  const HostMatrix block(DType::Q8_0, n, n, 5), plain(DType::BF16, n, n, 6);
  const Matrix w_block = on_device(block.view, size_t{1} << 20),
               w_plain = on_device(plain.view, size_t{1} << 20);
  const std::vector<float> first = random_floats(static_cast<size_t>(n), 51);
  const OnDevice<float> norm(random_floats(static_cast<size_t>(n), 52));
  std::vector<float> waited;
  for (const bool wait : {true, false}) {
    OnDevice<float> a(first);
    const OnDevice<float> b(static_cast<size_t>(n)), c(static_cast<size_t>(n));
    const auto multiply = [&](const float* x, std::span<const MatvecJob> jobs) {
      const MatvecInput input{
          .x = x, .rows = 1, .cols = n, .made = true, .norm = norm.data(), .eps = 1e-5f};
      matvec(nullptr, input, jobs);
      if (wait) check(cudaDeviceSynchronize(), "kernel");
    };
    for (int64_t step = 0; step < steps; ++step) {
      const MatvecJob jobs[] = {{.weight = w_block.view(), .y = b.data()},
                                {.weight = w_plain.view(), .y = c.data()}};
      multiply(a.data(), jobs);
      const MatvecJob back[] = {
          {.weight = w_plain.view().slice_rows(0, n / 2), .y = a.data()},
          {.weight = w_block.view().slice_rows(n / 2, n / 2), .y = a.data() + n / 2}};
      multiply(step % 2 == 0 ? b.data() : c.data(), back);
    }
    if (wait) {
      waited = a.get();
    } else {
      EXPECT_EQ(a.get(), waited);
    }
  }
  for (const float v : waited) ASSERT_TRUE(std::isfinite(v));
}

}  // namespace
}  // namespace longhaul::cuda
