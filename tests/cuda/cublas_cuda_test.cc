// Prefill products, and a comparison of cublas_library.h's declarations with cublasLt.h.

#include <cublasLt.h>
#include <cublas_v2.h>

#include <cmath>
#include <string>

#include "base/float_types.h"
#include "on_device.h"
#include "ops/matmul/cublas.gpu.h"

namespace longhaul::cuda {
namespace {

static_assert(lt::kSuccess == CUBLAS_STATUS_SUCCESS);
static_assert(lt::kCompute32F == CUBLAS_COMPUTE_32F);
static_assert(lt::kAsItLies == CUBLAS_OP_N);
static_assert(lt::kR32F == CUDA_R_32F && lt::kR16BF == CUDA_R_16BF);
static_assert(lt::kTransposed == CUBLAS_OP_T && sizeof(cublasOperation_t) == sizeof(int32_t));
static_assert(lt::kTransA == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(lt::kR8FE4M3 == CUDA_R_8F_E4M3);
static_assert(lt::kScalesA == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
static_assert(lt::kScalesB == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
#if CUDART_VERSION >= 12090
static_assert(lt::kScaleModeA == CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
static_assert(lt::kScaleModeB == CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
static_assert(lt::kScaleOfRow == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
#endif
static_assert(lt::kTransB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(lt::kBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(lt::kBatchOffset == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(lt::kMaxWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(lt::kAlignmentOf[0] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(lt::kAlignmentOf[3] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(sizeof(lt::Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(offsetof(lt::Heuristic, workspace) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));

std::vector<uint16_t> random_bf16(size_t count, uint32_t seed) {
  std::vector<uint16_t> values;
  for (const float x : random_floats(count, seed)) values.push_back(f32_to_bf16(x));
  return values;
}

struct Case {
  int64_t rows, outputs, cols, x_more, w_more, y_more;
  bool bf16_out, add;
  size_t shift;
};

double value(uint16_t x) { return static_cast<double>(bf16_to_f32(x)); }
double value(float x) { return static_cast<double>(x); }

template <class Out>
void run_case(Gemm& gemm, const Case& c, const std::vector<Out>& before, double relative) {
  const int64_t xs = c.cols + c.x_more, ws = c.cols + c.w_more, ys = c.outputs + c.y_more;
  const auto x = random_bf16(static_cast<size_t>(c.rows * xs), 1);
  const auto w = random_bf16(static_cast<size_t>(c.outputs * ws), 2);
  const OnDevice<uint16_t> x_there(x, c.shift), w_there(w, c.shift);
  const OnDevice<Out> y(before, c.shift);
  GemmCall call;
  call.rows = c.rows;
  call.outputs = c.outputs;
  call.cols = c.cols;
  call.x = x_there.data();
  call.x_stride = xs;
  call.w = w_there.data();
  call.w_stride = ws;
  call.y = y.data();
  call.y_stride = ys;
  call.bf16_out = c.bf16_out;
  call.add = c.add;
  gemm.run(nullptr, call);
  const std::vector<Out> got = y.get();
  for (int64_t r = 0; r < c.rows; ++r) {
    for (int64_t o = 0; o < ys; ++o) {
      const auto at = static_cast<size_t>(r * ys + o);
      if (o >= c.outputs) {
        ASSERT_EQ(got[at], before[at]);
        continue;
      }
      double sum = c.add ? value(before[at]) : 0, size = 1;
      for (int64_t i = 0; i < c.cols; ++i) {
        const double term =
            value(x[static_cast<size_t>(r * xs + i)]) * value(w[static_cast<size_t>(o * ws + i)]);
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(value(got[at]), sum, relative * std::abs(sum) + 1e-6 * size) << r << ' ' << o;
    }
  }
}

TEST(CudaGemm, EqualsTheDoubleLoop) {
  Gemm gemm(open_cublas());
  for (const Case& c :
       {Case{33, 64, 96, 0, 0, 0, false, false, 0}, Case{33, 64, 96, 8, 16, 4, false, true, 0},
        Case{17, 48, 128, 0, 0, 8, true, false, 0}, Case{9, 41, 72, 0, 0, 0, false, true, 0},
        Case{200, 136, 520, 0, 0, 0, false, true, 2}, Case{12, 8, 40, 0, 0, 1, false, false, 1}}) {
    SCOPED_TRACE(std::to_string(c.rows) + "x" + std::to_string(c.outputs));
    const auto count = static_cast<size_t>(c.rows * (c.outputs + c.y_more));
    if (c.bf16_out) {
      run_case(gemm, c, random_bf16(count, 3), 1.0 / 256);
    } else {
      run_case(gemm, c, random_floats(count, 3), 1e-6);
    }
  }
}

/// Transposed operands, and several products with interleaved rows.
TEST(CudaGemm, TurnedOperandsAndBatches) {
  Gemm gemm(open_cublas());
  constexpr int64_t kRows = 50, kOutputs = 72, kCols = 40, kBatch = 3;
  for (const bool x_turned : {false, true}) {
    for (const bool w_turned : {false, true}) {
      GemmCall call{.rows = kRows, .outputs = kOutputs, .cols = kCols};
      call.x_turned = x_turned;
      call.w_turned = w_turned;
      call.batch = kBatch;
      call.add = true;
      call.x_batch = x_turned ? kRows : kCols;  // side by side
      call.x_stride = kBatch * call.x_batch;
      call.w_stride = w_turned ? kOutputs : kCols;  // one after the other
      call.w_batch = kOutputs * kCols;
      call.y_batch = kOutputs;
      call.y_stride = kBatch * kOutputs;
      const auto x = random_bf16(kBatch * kRows * kCols, 1);
      const auto w = random_bf16(kBatch * kOutputs * kCols, 2);
      const auto before = random_floats(kBatch * kRows * kOutputs, 3);
      const OnDevice<uint16_t> x_there(x), w_there(w);
      const OnDevice<float> y(before);
      call.x = x_there.data();
      call.w = w_there.data();
      call.y = y.data();
      gemm.run(nullptr, call);
      const std::vector<float> got = y.get();
      for (int64_t b = 0; b < kBatch; ++b) {
        for (int64_t r = 0; r < kRows; ++r) {
          for (int64_t o = 0; o < kOutputs; ++o) {
            const auto at = static_cast<size_t>(r * call.y_stride + b * call.y_batch + o);
            double sum = value(before[at]), size = 1;
            for (int64_t i = 0; i < kCols; ++i) {
              const int64_t in = x_turned ? i * call.x_stride + r : r * call.x_stride + i;
              const int64_t of = w_turned ? i * call.w_stride + o : o * call.w_stride + i;
              const double term = value(x[static_cast<size_t>(b * call.x_batch + in)]) *
                                  value(w[static_cast<size_t>(b * call.w_batch + of)]);
              sum += term;
              size += std::abs(term);
            }
            ASSERT_NEAR(value(got[at]), sum, 1e-6 * size) << x_turned << w_turned << b << r << o;
          }
        }
      }
    }
  }
}

TEST(CudaGemm, ManyShapesDoNotGrowItWithoutEnd) {
  Gemm gemm(open_cublas());
  const OnDevice<uint16_t> x(random_bf16(600 * 16, 4)), w(random_bf16(16 * 16, 5));
  const OnDevice<float> y(600 * 16);
  GemmCall call;
  call.outputs = call.cols = 16;
  call.x = x.data();
  call.w = w.data();
  call.y = y.data();
  for (call.rows = 9; call.rows <= 600; ++call.rows) gemm.run(nullptr, call);
  for (const float value : y.get()) ASSERT_FALSE(std::isnan(value));
}

}  // namespace
}  // namespace longhaul::cuda
