// matvec kernels for f32, f16 and bf16 weights. x is f32 in shared memory, four values per word.
// Words that lanes read at the same time are adjacent.

#include "base/assert.h"
#include "ops/matmul/made_row.cuh"

namespace longhaul::cuda {
namespace {

template <class Plain, class Form>
struct PlainMatvec {
  using Unit = Word4;
  using Row = const Word4*;
  static constexpr int kAhead = Form::kRows > 1 ? 2 : 4;
  static constexpr int kWords = Plain::kPer / 4;  // words of x per 16 bytes of weights

  void* shared;
  float4* x;            // [kRowsOfX][kWords][units]
  int words, per_word;  // per chunk and row of x: words and units

  __device__ static PlainMatvec in(void* shared, int chunk_cols) {
    PlainMatvec s;
    s.shared = shared;
    s.x = static_cast<float4*>(shared);
    s.words = (chunk_cols + 255) / 256 * 64;
    s.per_word = s.words / kWords;
    return s;
  }

  __device__ __forceinline__ void begin(const MatvecArgs& a) const {
    if constexpr (Form::kMakesRow) {
      if (a.made_at > 0) MadeRow(a, shared).template begin<Form::kThreads>(a);
    }
  }

  __device__ void stage(const MatvecArgs& a, int first, int cols) const {
    if constexpr (Form::kMakesRow) {
      if (a.made_at > 0) {
        return MadeRow(a, shared).template make<Form::kThreads>(
            a, [&](int i, float4 v, bool present) {
              if (present) x[i % kWords * per_word + i / kWords] = v;
            });
      }
    }
    const int used = (cols + Plain::kPer - 1) / Plain::kPer * kWords;
    const int row = first_row_of_x<Form>(a);
#pragma unroll 4
    for (int i = threadIdx.x; i < used * Form::kRowsOfX; i += Form::kThreads) {
      const int m = i / used, word = i - m * used;
      x[m * words + word % kWords * per_word + word / kWords] =
          load_x4(a, row + m, first + 4 * word);
    }
  }

  __device__ static int units(int cols) { return (cols + Plain::kPer - 1) / Plain::kPer; }
  __device__ static Row row_of(const MatvecArgs&, const MatvecArgs::Job& job, int64_t row,
                               int first) {
    const uint8_t* begin = job.planes.at[0] + static_cast<size_t>(row) * job.row_stride;
    return reinterpret_cast<const Word4*>(begin) + first / Plain::kPer;
  }
  __device__ static Unit load(const Planes&, Row row, int u) { return load_once(row + u); }

  __device__ __forceinline__ void add(const Word4 (&loaded)[Form::kRows], int u,
                                      float (&sums)[Form::kRows][Form::kRowsOfX]) const {
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
#pragma unroll
      for (int m = 0; m < Form::kRowsOfX; ++m) {
        const float4 v = x[m * words + word * per_word + u];
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
  walk_rows<Form>(a, batches, PlainMatvec<Plain, Form>::in(shared, a.chunk_cols));
}

template <class Plain>
MatvecLaunch launch_of(const MatvecWanted& wanted) {
  return with_form(wanted, [](auto form) -> MatvecLaunch {
    using Form = decltype(form);
    return {plain_matvec_kernel<Plain, Form>, Form::kThreads, Form::kBatch,
            size_t{Form::kRowsOfX} * 256 * 4, 0};
  });
}

}  // namespace

MatvecLaunch plain_matvec(DType type, const MatvecWanted& wanted) {
  if (type == DType::F32) return launch_of<PlainF32>(wanted);
  if (type == DType::F16) return launch_of<PlainF16>(wanted);
  LH_ASSERT(type == DType::BF16);
  return launch_of<PlainBF16>(wanted);
}

}  // namespace longhaul::cuda
