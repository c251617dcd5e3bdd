// matvec kernels of f32, f16 and bf16 weights. In shared memory x is f32, four values a word; the
// words that the lanes meet at the same time are neighbours.

#include "base/assert.h"
#include "ops/cuda/matvec_kernel.cuh"

namespace longhaul::cuda {
namespace {

template <class Plain, class Form>
struct PlainMatvec {
  static constexpr int kUnroll = Form::kRows > 1 ? 2 : 4;
  static constexpr int kWords = Plain::kPer / 4;  // of x for 16 bytes of weights

  float4* x;         // [kRowsOfX][kWords][units]
  int words, units;  // of a chunk and a row of x

  __device__ static PlainMatvec in(void* shared, int chunk_cols) {
    PlainMatvec s;
    s.x = static_cast<float4*>(shared);
    s.words = (chunk_cols + 255) / 256 * 64;
    s.units = s.words / kWords;
    return s;
  }

  __device__ void stage(const MatvecArgs& a, int first, int cols) const {
    const int used = (cols + Plain::kPer - 1) / Plain::kPer * kWords;
    for (int i = threadIdx.x; i < used * Form::kRowsOfX; i += Form::kThreads) {
      const int m = i / used, word = i - m * used;
      x[m * words + word % kWords * units + word / kWords] = load_x4(a, m, first + 4 * word);
    }
  }

  __device__ void add(const MatvecArgs::Job& job, int64_t row, int first, int cols,
                      float (&sums)[Form::kRows][Form::kRowsOfX]) const {
    const int n = (cols + Plain::kPer - 1) / Plain::kPer;
    const Word4* weights[Form::kRows];
#pragma unroll
    for (int r = 0; r < Form::kRows; ++r) {
      const auto at = static_cast<size_t>(min(row + r, job.rows - 1));
      weights[r] = reinterpret_cast<const Word4*>(job.planes.at[0] + at * job.row_stride) +
                   first / Plain::kPer;
    }
    for (int u0 = threadIdx.x % Form::kLanes; u0 < n; u0 += Form::kLanes * kUnroll) {
      Word4 loaded[kUnroll][Form::kRows];
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) {
        const int u = u0 + i * Form::kLanes;
        if (u >= n) continue;
#pragma unroll
        for (int r = 0; r < Form::kRows; ++r) loaded[i][r] = load_once(weights[r] + u);
      }
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) {
        const int u = u0 + i * Form::kLanes;
        if (u < n) add_unit(loaded[i], u, sums);
      }
    }
  }

  __device__ void add_unit(const Word4 (&loaded)[Form::kRows], int u,
                           float (&sums)[Form::kRows][Form::kRowsOfX]) const {
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
#pragma unroll
      for (int m = 0; m < Form::kRowsOfX; ++m) {
        const float4 v = x[m * words + word * units + u];
#pragma unroll
        for (int r = 0; r < Form::kRows; ++r) {
          float sum = sums[r][m];
          sum = fmaf(Plain::value(loaded[r], 4 * word), v.x, sum);
          sum = fmaf(Plain::value(loaded[r], 4 * word + 1), v.y, sum);
          sum = fmaf(Plain::value(loaded[r], 4 * word + 2), v.z, sum);
          sums[r][m] = fmaf(Plain::value(loaded[r], 4 * word + 3), v.w, sum);
        }
      }
    }
  }
};

template <class Plain, class Form>
__global__ void __launch_bounds__(Form::kThreads, Form::kLeastBlocks)
    plain_matvec_kernel(__grid_constant__ const MatvecArgs a, int batches) {
  extern __shared__ uint4 shared[];
  const auto x = PlainMatvec<Plain, Form>::in(shared, a.chunk_cols);
  walk_batches<Form>(
      a, batches, [&](int first, int cols) { x.stage(a, first, cols); },
      [&](const MatvecArgs::Job& job, int64_t row, int first, int cols, auto& sums) {
        x.add(job, row, first, cols, sums);
      });
}

template <class Plain, int kM, int kL>
MatvecLaunch plain_launch() {
  using Form = MatvecForm<kM, kL>;
  return {plain_matvec_kernel<Plain, Form>, Form::kThreads, Form::kBatch, size_t{kM} * 256 * 4};
}

template <class Plain>
MatvecLaunch plain_launch(int64_t rows, int lanes) {
  if (lanes == 8) {
    if (rows == 1) return plain_launch<Plain, 1, 8>();
    return rows <= 4 ? plain_launch<Plain, 4, 8>() : plain_launch<Plain, 8, 8>();
  }
  if (rows == 1) return plain_launch<Plain, 1, 32>();
  return rows <= 4 ? plain_launch<Plain, 4, 32>() : plain_launch<Plain, 8, 32>();
}

}  // namespace

MatvecLaunch plain_matvec(DType type, int64_t rows, int lanes) {
  if (type == DType::F32) return plain_launch<PlainF32>(rows, lanes);
  if (type == DType::F16) return plain_launch<PlainF16>(rows, lanes);
  LH_ASSERT(type == DType::BF16);
  return plain_launch<PlainBF16>(rows, lanes);
}

}  // namespace longhaul::cuda
