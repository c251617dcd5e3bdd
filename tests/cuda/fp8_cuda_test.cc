// Products of 8-bit floats on a GPU: rounded rows, and their products compared with
// double-precision sums.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/float_types.h"
#include "base/user_error.h"
#include "cuda/on_device.h"
#include "cuda/queued.h"
#include "cuda/weights_on_device.h"
#include "ops/core/device_ops.h"
#include "ops/core/gpu/cublas_library.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/matmul/cublas.gpu.h"
#include "ops/matmul/fp8_rows.gpu.h"

namespace longhaul::cuda {
namespace {

/// Four bits of exponent with a bias of 7 and three of fraction. 0x7f is NaN.
double float_of_e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return NAN;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return (bits & 0x80) != 0 ? -size : size;
}

/// Rows in 8-bit floats on the device, and their values.
struct Rounded {
  Rounded(const std::vector<float>& x, int64_t rows, int64_t cols)
      : memory(fp8_bytes(rows, cols)), there(fp8_rows_in(memory.data(), rows, cols)) {
    std::vector<uint16_t> bf16;
    for (const float each : x) bf16.push_back(f32_to_bf16(each));
    const OnDevice<uint16_t> numbers(bf16);
    round_to_fp8(nullptr, numbers.data(), cols, rows, cols, there);
    const std::vector<uint8_t> bytes = memory.get();
    const auto* const scales = reinterpret_cast<const float*>(
        bytes.data() + (reinterpret_cast<uint8_t*>(there.scales) - memory.data()));
    for (int64_t i = 0; i < rows * cols; ++i) {
      values.push_back(float_of_e4m3(bytes[static_cast<size_t>(i)]) *
                       static_cast<double>(scales[i / cols]));
    }
  }
  OnDevice<uint8_t> memory;
  Fp8Rows there;
  std::vector<double> values;
};

class Fp8Test : public OnQueue {
 protected:
  void SetUp() override {
    if (!is_hopper()) GTEST_SKIP() << "no card of compute capability 9.0";
    if (open_cublas().version < lt::kScaleOfRowSince) GTEST_SKIP() << "cuBLAS before 12.9";
  }
};

TEST_F(Fp8Test, RowsAreRoundedToTheNearestOfTheirScale) {
  constexpr int64_t kRows = 5, kCols = 4112;
  std::vector<float> x = random_floats(kRows * kCols, 3);
  for (int64_t i = 0; i < kCols; ++i) {
    x[static_cast<size_t>(kCols + i)] *= 1e-6f;
    x[static_cast<size_t>(2 * kCols + i)] = 0;
    x[static_cast<size_t>(3 * kCols + i)] *= 1e30f;
  }
  x[7] = 3000;  // one value far above the others in its row
  const Rounded rounded(x, kRows, kCols);
  for (int64_t r = 0; r < kRows; ++r) {
    float top = 0;
    for (int64_t i = r * kCols; i < (r + 1) * kCols; ++i) {
      top = std::max(top, std::abs(bf16_to_f32(f32_to_bf16(x[static_cast<size_t>(i)]))));
    }
    for (int64_t i = r * kCols; i < (r + 1) * kCols; ++i) {
      const double want = bf16_to_f32(f32_to_bf16(x[static_cast<size_t>(i)]));
      // Half of the last bit of values, and of the smallest step.
      const double off = std::max(std::abs(want) / 16, double{top} / 448 / 1024) * 1.001;
      ASSERT_NEAR(rounded.values[static_cast<size_t>(i)], want, off) << r << " " << i;
    }
  }
}

/// f32 and bf16 results, and results with add.
TEST_F(Fp8Test, ProductsAreThoseOfTheRoundedRows) {
  Gemm gemm(open_cublas());
  for (const auto& [rows, outputs, cols] : {std::array<int64_t, 3>{100, 256, 512},
                                            {17, 48, 64},
                                            {9, 16, 4096},
                                            {9, 4096, 16},
                                            {333, 4096, 1024},
                                            {8192, 192, 384}}) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << outputs << " of " << cols);
    const Rounded x(random_floats(static_cast<size_t>(rows * cols), 1), rows, cols),
        w(random_floats(static_cast<size_t>(outputs * cols), 2, 0.1f), outputs, cols);
    const std::vector<float> before = random_floats(static_cast<size_t>(rows * outputs), 4);
    const OnDevice<float> y(before), z(before);
    const OnDevice<uint16_t> half(static_cast<size_t>(rows * outputs));
    GemmCall call{.rows = rows, .outputs = outputs, .cols = cols};
    call.x = x.there.numbers, call.x_scales = x.there.scales;
    call.w = w.there.numbers, call.w_scales = w.there.scales;
    call.y = y.data();
    gemm.run(nullptr, call);
    call.y = z.data(), call.add = true;
    gemm.run(nullptr, call);
    call.y = half.data(), call.add = false, call.bf16_out = true;
    gemm.run(nullptr, call);
    const std::vector<float> alone = y.get(), added = z.get();
    const std::vector<uint16_t> in_bf16 = half.get();
    for (int64_t r = 0; r < rows; r += 13) {
      for (int64_t o = 0; o < outputs; o += 7) {
        double want = 0, size = 0;
        for (int64_t i = 0; i < cols; ++i) {
          const double each = x.values[static_cast<size_t>(r * cols + i)] *
                              w.values[static_cast<size_t>(o * cols + i)];
          want += each;
          size += std::abs(each);
        }
        const auto at = static_cast<size_t>(r * outputs + o);
        const double off = 1e-4 * size;
        ASSERT_NEAR(alone[at], want, off) << r << " " << o;
        ASSERT_NEAR(added[at], want + static_cast<double>(before[at]), off + 1e-5);
        ASSERT_NEAR(bf16_to_f32(in_bf16[at]), want, off + std::abs(want) / 250);
      }
    }
  }
}

/// Stored weights: the product equals that of bf16 except for the 8-bit error. Decode rows do not
/// use 8-bit floats, and a copy of the weights does not change results.
TEST_F(Fp8Test, InputsChooseTheirProducts) {
  constexpr int64_t kRows = 200, kOutputs = 512, kColumns = 256;
  DeviceOps& ops = queue().device().ops();
  const HostMatrix weight(DType::Q8_0, kOutputs, kColumns, random_floats(kOutputs * kColumns, 5));
  const auto matrix = ops.matrix({&weight.view, 1});
  const auto plain = ops.input(), fp8 = ops.input(Compute::kFp8);
  const View<float> x = there(random_floats(static_cast<size_t>(kRows * kColumns), 6));
  const View<float> y = empty_there<float>(kRows * kOutputs);
  const DeviceLinear product{matrix.get(), y, {}, false};
  const auto result = [&](DeviceInput& input, int64_t rows) {
    ops.take(x, rows, kColumns, input);
    ops.linear(input, {&product, 1});
    std::vector<float> all = here(y);
    all.resize(static_cast<size_t>(rows * kOutputs));
    return all;
  };
  const std::vector<float> want = result(*plain, kRows), got = result(*fp8, kRows);
  double error = 0, norm = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    error += std::pow(double{got[i]} - double{want[i]}, 2);
    norm += std::pow(double{want[i]}, 2);
  }
  const double off = std::sqrt(error / norm);
  EXPECT_GT(off, 0.005);
  EXPECT_LT(off, 0.05);
  EXPECT_EQ(result(*fp8, 3), result(*plain, 3));
  const WeightCopies& copies = *static_cast<GpuQueue&>(queue().device()).copies();
  const size_t before = copies.bytes();
  for (int i = 0; i < WeightCopies::kFp8PassesBefore; ++i) result(*fp8, kRows);
  EXPECT_EQ(result(*fp8, kRows), got);
  EXPECT_EQ(copies.bytes(), before + (copies.wanted() ? fp8_bytes(kOutputs, kColumns) : 0));
}

}  // namespace
}  // namespace longhaul::cuda
