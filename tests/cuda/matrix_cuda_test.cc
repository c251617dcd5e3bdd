// Upload, expansion and embedding compared with ops/matmul/dequantize.h, bit for bit.

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/matmul/dequantize.h"
#include "ops/matmul/expand.gpu.h"
#include "weights_on_device.h"

namespace longhaul::cuda {
namespace {

class CudaMatrix : public testing::TestWithParam<DType> {
 protected:
  int64_t odd_cols() const {
    const int block = traits(GetParam()).block_size;
    return block == 1 ? 77 : 3 * block;
  }
};

TEST_P(CudaMatrix, ExpandsToTheBitsOfDequantize) {
  for (const int64_t cols : {odd_cols(), int64_t{1024}}) {
    const HostMatrix w(GetParam(), 37, cols);
    const Matrix m = on_device(w.view);
    const int64_t stride = bf16_stride_of(cols);
    for (const auto& [begin, count] : {std::pair<int64_t, int64_t>{0, 37}, {5, 20}, {36, 1}}) {
      OnDevice<uint16_t> out(static_cast<size_t>(count * stride));
      expand_bf16(nullptr, m.view(), begin, count, out.data());
      const std::vector<uint16_t> got = out.get();
      std::vector<bf16_t> expected(static_cast<size_t>(count * cols));
      dequantize_rows_bf16(w.view, begin, count, expected.data());
      for (int64_t r = 0; r < count; ++r) {
        for (int64_t c = 0; c < stride; ++c) {
          const int want = c < cols ? expected[static_cast<size_t>(r * cols + c)] : 0;
          ASSERT_EQ(got[static_cast<size_t>(r * stride + c)], want) << r << ' ' << c;
        }
      }
    }
  }
}

TEST_P(CudaMatrix, EmbedsRows) {
  const int64_t cols = odd_cols();
  const HostMatrix w(GetParam(), 19, cols);
  const Matrix m = on_device(w.view);
  const std::vector<int32_t> tokens = {3, 18, 0, 3, -1, 19, 7};
  const OnDevice<int32_t> numbers(tokens);
  const OnDevice<float> out(tokens.size() * static_cast<size_t>(cols), 1);
  embed_rows(nullptr, m.view(), numbers.data(), std::ssize(tokens), out.data());
  const std::vector<float> got = out.get();
  std::vector<float> row(static_cast<size_t>(cols));
  for (size_t t = 0; t < tokens.size(); ++t) {
    std::fill(row.begin(), row.end(), 0.0f);
    if (tokens[t] >= 0 && tokens[t] < 19) dequantize_rows(w.view, tokens[t], 1, row.data());
    for (size_t c = 0; c < row.size(); ++c) {
      ASSERT_EQ(std::bit_cast<uint32_t>(got[t * row.size() + c]), std::bit_cast<uint32_t>(row[c]));
    }
  }
}

TEST_P(CudaMatrix, StacksTensorsAndTakesRows) {
  const int64_t cols = 512;
  const HostMatrix a(GetParam(), 7, cols, 1), b(GetParam(), 12, cols, 2);
  Matrix m(GetParam(), 19, cols);
  Uploader uploader(nullptr, 2000);
  uploader.put(a.view, m);
  uploader.put(b.view, m, 7);
  uploader.finish();
  m.keep_bf16(nullptr);
  const MatrixView part = m.view().slice_rows(9, 4);
  std::vector<bf16_t> expected(static_cast<size_t>(4 * cols));
  dequantize_rows_bf16(b.view, 2, 4, expected.data());
  const OnDevice<uint16_t> out(expected.size());
  expand_bf16(nullptr, part, 0, 4, out.data());
  EXPECT_EQ(out.get(), expected);
  std::vector<bf16_t> kept(expected.size());
  ASSERT_EQ(part.bf16_stride, cols);
  check(cudaMemcpy(kept.data(), part.bf16, kept.size() * 2, cudaMemcpyDeviceToHost), "kept");
  EXPECT_EQ(kept, expected);
  m.drop_copies();
  EXPECT_EQ(m.view().bf16 != nullptr, GetParam() == DType::BF16);
}

INSTANTIATE_TEST_SUITE_P(All, CudaMatrix, testing::ValuesIn(device_types()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(CudaUploader, PutsBytesLargerThanAChunk) {
  const std::vector<float> values = random_floats(100003, 9);
  const OnDevice<float> out(values.size());
  Uploader uploader(nullptr, 65536);
  uploader.put(values.data(), values.size() * sizeof(float), out.data());
  uploader.finish();
  EXPECT_EQ(out.get(), values);
}

}  // namespace
}  // namespace longhaul::cuda
