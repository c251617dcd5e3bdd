// Decode rows compared with the double loop over x as the CPU rounds it, and with
// ops/matmul/matvec.h.

#include <cmath>
#include <string>

#include "double_products.h"
#include "ops/core/convert.h"
#include "ops/isa_fixture.h"
#include "ops/matmul/dequantize.h"
#include "ops/matmul/matvec.gpu.h"
#include "ops/matmul/matvec.h"
#include "weights_on_device.h"

namespace longhaul::cuda {
namespace {

std::vector<uint16_t> to_bf16(const std::vector<float>& x) {
  std::vector<uint16_t> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = f32_to_bf16(x[i]);
  return y;
}

/// Memory of a test for int8 rows. It checks that nothing is written past its end.
class RoundedRows {
 public:
  RoundedRows(int64_t rows, int64_t cols)
      : rows_(rows), cols_(cols), memory_(int8_bytes(rows, cols)) {}
  template <class T>
  void make(const T* x, int64_t stride) {
    round_to_int8(nullptr, x, rows_, cols_, stride, rows());
  }
  Int8Rows rows() const { return int8_rows_in(memory_.data(), rows_, cols_); }
  std::vector<uint8_t> get() const { return memory_.get(); }

 private:
  int64_t rows_, cols_;
  OnDevice<uint8_t> memory_;
};

struct Case {
  int64_t outputs, cols, rows;
  bool bf16 = false, bias = false, add = false;
  size_t shift = 0;  // offset of x in elements
};

void run_case(DType type, const Case& c) {
  const HostMatrix w(type, c.outputs, c.cols);
  const Matrix m = on_device(w.view, size_t{1} << 20);
  const int64_t x_stride = c.cols + (c.shift != 0 ? 3 : 0), y_stride = c.outputs + 5;
  std::vector<float> x = random_floats(static_cast<size_t>(c.rows * x_stride), 11);
  if (c.bf16) {
    for (float& v : x) v = bf16_to_f32(f32_to_bf16(v));
  }
  const OnDevice<float> x_f32(x, c.shift);
  const OnDevice<uint16_t> x_bf16(to_bf16(x), c.shift);
  const std::vector<float> bias = random_floats(static_cast<size_t>(c.outputs), 12);
  const OnDevice<float> bias_there(bias, 1);
  const std::vector<float> before = random_floats(static_cast<size_t>(c.rows * y_stride), 13);
  const OnDevice<float> y(before, 1);

  MatvecInput input;
  input.x = c.bf16 ? static_cast<const void*>(x_bf16.data()) : x_f32.data();
  input.bf16 = c.bf16;
  input.rows = c.rows;
  input.cols = c.cols;
  input.stride = x_stride;
  const int64_t blocks_cols = is_block_type(type) ? c.cols : 0;
  RoundedRows int8(c.rows, blocks_cols);
  if (is_block_type(type)) {
    c.bf16 ? int8.make(x_bf16.data(), x_stride) : int8.make(x_f32.data(), x_stride);
    input.int8 = int8.rows();
    input.x = nullptr;  // not read
  }
  MatvecJob job;
  job.weight = m.view();
  job.y = y.data();
  job.y_stride = y_stride;
  job.bias = c.bias ? bias_there.data() : nullptr;
  job.add = c.add;
  matvec(nullptr, input, {&job, 1});
  const std::vector<float> got = y.get();

  std::vector<double> rounded(static_cast<size_t>(c.rows * c.cols));
  for (int64_t r = 0; r < c.rows; ++r) {
    std::copy_n(x.begin() + r * x_stride, c.cols, rounded.begin() + r * c.cols);
  }
  if (is_block_type(type)) round_to_int8(rounded);
  std::vector<float> weights(static_cast<size_t>(c.cols));
  for (int64_t n = 0; n < c.outputs; ++n) {
    dequantize_rows(w.view, n, 1, weights.data());
    for (int64_t r = 0; r < c.rows; ++r) {
      Product p = product(weights, rounded.data() + r * c.cols);
      const auto at = static_cast<size_t>(r * y_stride + n);
      if (c.bias) p.sum += static_cast<double>(bias[static_cast<size_t>(n)]);
      if (c.add) p.sum += static_cast<double>(before[at]);
      ASSERT_NEAR(static_cast<double>(got[at]), p.sum, 2e-6 * p.size + 1e-5)
          << "row " << r << " output " << n << " of " << c.outputs << 'x' << c.cols;
    }
  }
  for (size_t i = 0; i < got.size(); ++i) {  // the gaps between rows of y must be unchanged
    if (static_cast<int64_t>(i) % y_stride >= c.outputs) {
      ASSERT_EQ(got[i], before[i]);
    }
  }
}

class CudaMatvec : public testing::TestWithParam<DType> {};

TEST_P(CudaMatvec, EqualsTheDoubleLoop) {
  const int block = traits(GetParam()).block_size;
  const int64_t odd = block == 1 ? 77 : 3 * block, small = block == 256 ? 768 : 576;
  for (int64_t rows = 1; rows <= kMostMatvecRows; ++rows) {
    run_case(GetParam(), {.outputs = 33, .cols = odd, .rows = rows});
  }
  for (const int64_t rows : {1, 3, 8}) {
    run_case(GetParam(), {.outputs = 257, .cols = small, .rows = rows, .bias = true});
    run_case(GetParam(), {.outputs = 5, .cols = 4096, .rows = rows, .bf16 = true, .add = true});
    run_case(GetParam(), {.outputs = 67, .cols = 4096, .rows = rows, .shift = 1});
    run_case(GetParam(), {.outputs = 3, .cols = odd, .rows = rows, .bf16 = true, .shift = 1});
    // More columns than fit in shared memory at once.
    run_case(GetParam(), {.outputs = 35, .cols = 40960, .rows = rows, .bias = true});
  }
  run_case(GetParam(), {.outputs = 3, .cols = 163840, .rows = 1});
}

/// Uses an instruction set for which all types round activations as GPUs do.
TEST_P(CudaMatvec, EqualsTheCpu) {
  const RestoreIsaAndThreads restore;
  set_isa(Isa::kGeneric);
  const int64_t cols = 2048, outputs = 100;
  const HostMatrix w(GetParam(), outputs, cols);
  const Matrix m = on_device(w.view);
  const std::vector<float> x = random_floats(cols, 21);
  const OnDevice<float> x_there(x), y(outputs);
  MatvecInput input;
  input.x = x_there.data();
  input.rows = 1;
  input.cols = cols;
  RoundedRows int8(1, cols);
  int8.make(x_there.data(), cols);
  input.int8 = int8.rows();
  MatvecJob job;
  job.weight = m.view();
  job.y = y.data();
  matvec(nullptr, input, {&job, 1});
  ActivationRows rows;
  rows.assign(x.data(), 1, cols);
  std::vector<float> expected(outputs);
  longhaul::matvec(w.view, rows, expected.data());
  const std::vector<float> got = y.get();
  const std::vector<double> of_row(x.begin(), x.end());
  std::vector<float> weights(static_cast<size_t>(cols));
  for (int64_t n = 0; n < outputs; ++n) {  // both add in f32, each in its own order
    dequantize_rows(w.view, n, 1, weights.data());
    const auto at = static_cast<size_t>(n);
    ASSERT_NEAR(got[at], expected[at], 2e-6 * product(weights, of_row.data()).size) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaMatvec, testing::ValuesIn(device_types()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(CudaInt8Rows, HaveTheBitsOfTheCpu) {
  const int64_t rows = 3, cols = 1312;
  for (const size_t shift : {0u, 1u}) {
    for (const bool bf16 : {false, true}) {
      std::vector<float> x = random_floats(size_t{3} * 1315, 41, 7);
      x[1315] = 3e38f;
      std::fill_n(x.begin() + 64, 32, 0.0f);
      std::fill_n(x.begin() + 96, 32, 1e-38f);
      if (bf16) {
        for (float& v : x) v = bf16_to_f32(f32_to_bf16(v));
      }
      const OnDevice<float> x_f32(x, shift);
      const OnDevice<uint16_t> x_bf16(to_bf16(x), shift);
      RoundedRows there(rows, cols);
      bf16 ? there.make(x_bf16.data(), 1315) : there.make(x_f32.data(), 1315);
      const std::vector<uint8_t> got = there.get();
      for (int64_t r = 0; r < rows; ++r) {
        ActivationRows expected;
        expected.assign(x.data() + r * 1315, 1, cols);
        expected.quantize();
        for (int64_t g = 0; g < cols / 16; ++g) {
          const ActivationGroup& group = expected.groups(0)[g / 16];
          const auto at = static_cast<size_t>(r * (cols / 16) + g);
          ASSERT_EQ(std::memcmp(got.data() + 16 * at, group.q + 16 * (g % 16), 16), 0) << g;
          float factors[2];
          std::memcpy(factors, got.data() + 16 * static_cast<size_t>(rows * (cols / 16)) + 8 * at,
                      8);
          ASSERT_EQ(factors[0], group.scale[g % 16]) << g;
          ASSERT_EQ(factors[1], group.sum[g % 16]) << g;
        }
      }
    }
  }
}

/// Each product reads the previous product's output. Kernels start early.
TEST(CudaMatvecChain, SeesWhatTheKernelBeforeWrote) {
  const int64_t n = 2048, steps = 60;
  const HostMatrix block(DType::Q4_K, n, n, 5), plain(DType::BF16, n, n, 6);
  const Matrix w_block = on_device(block.view, size_t{1} << 20),
               w_plain = on_device(plain.view, size_t{1} << 20);
  const std::vector<float> first = random_floats(static_cast<size_t>(n), 51);
  std::vector<std::vector<float>> results;
  for (const bool wait : {true, false}) {
    OnDevice<float> a(first);
    const OnDevice<float> b(static_cast<size_t>(n)), c(static_cast<size_t>(n));
    RoundedRows int8(1, n);
    for (int64_t step = 0; step < steps; ++step) {
      const auto settle = [&] {
        if (wait) check(cudaDeviceSynchronize(), "kernel");
      };
      int8.make(a.data(), n);
      settle();
      MatvecInput input{.x = a.data(), .rows = 1, .cols = n, .int8 = int8.rows()};
      const MatvecJob jobs[] = {{.weight = w_block.view(), .y = b.data()},
                                {.weight = w_plain.view(), .y = c.data()}};
      matvec(nullptr, input, jobs);
      settle();
      int8.make(b.data(), n);
      settle();
      MatvecInput next{.x = c.data(), .rows = 1, .cols = n, .int8 = int8.rows()};
      const MatvecJob back[] = {
          {.weight = w_plain.view().slice_rows(0, n / 2), .y = a.data()},
          {.weight = w_block.view().slice_rows(n / 2, n / 2), .y = a.data() + n / 2}};
      matvec(nullptr, next, back);
      settle();
      std::vector<float> now = step % 3 == 2 ? a.get() : std::vector<float>();
      if (now.empty()) continue;
      float most = 0;
      for (const float v : now) most = std::max(most, std::abs(v));
      ASSERT_TRUE(std::isfinite(most) && most > 0);
      for (float& v : now) v /= most;
      a.set(now);
      if (wait) {
        results.push_back(now);
      } else {
        ASSERT_EQ(now, results[static_cast<size_t>(step / 3)]) << step;
      }
    }
  }
}

TEST(CudaMatvecGroup, MatricesOfSeveralTypesReadOneX) {
  const int64_t cols = 1536;
  const std::vector<DType> types = {DType::Q4_K, DType::Q6_K, DType::Q4_K, DType::BF16};
  const std::vector<int64_t> outputs = {700, 129, 1, 64};
  const std::vector<float> x = random_floats(static_cast<size_t>(2 * cols), 31);
  const OnDevice<float> x_there(x);
  std::vector<HostMatrix> weights;
  std::vector<Matrix> matrices;
  std::vector<OnDevice<float>> y, alone;
  std::vector<MatvecJob> jobs;
  MatvecInput input;
  input.x = x_there.data();
  input.rows = 2;
  input.cols = cols;
  RoundedRows int8(2, cols);
  int8.make(x_there.data(), cols);
  input.int8 = int8.rows();
  for (size_t i = 0; i < types.size(); ++i) {
    weights.emplace_back(types[i], outputs[i], cols, static_cast<uint32_t>(i));
    matrices.push_back(on_device(weights.back().view));
    y.emplace_back(static_cast<size_t>(2 * outputs[i]));
    alone.emplace_back(static_cast<size_t>(2 * outputs[i]));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    MatvecJob job;
    job.weight = matrices[i].view();
    job.y = alone[i].data();
    matvec(nullptr, input, {&job, 1});
    job.y = y[i].data();
    jobs.push_back(job);
  }
  matvec(nullptr, input, jobs);
  for (size_t i = 0; i < types.size(); ++i) EXPECT_EQ(y[i].get(), alone[i].get()) << i;
}

}  // namespace
}  // namespace longhaul::cuda
