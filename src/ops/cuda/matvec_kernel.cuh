#pragma once
// The common part of the matvec kernels. A block holds x in shared memory, in the form that the
// weights meet, and walks batches of weight rows: kLanes lanes read kRows rows side by side, 16
// bytes each at a time, several loads under way. Where x does not fit at once, it is held chunk by
// chunk of columns.

#include <cuda_runtime.h>

#include "ops/cuda/kernel_views.cuh"
#include "ops/cuda/matvec.h"

namespace longhaul::cuda {

struct MatvecArgs {
  struct Job {
    Planes planes;
    int64_t rows;
    size_t row_stride;
    float* y;
    int64_t y_stride;
    const float* bias;
    int add;
    int end;  // the first batch that is not this job's
  };
  Job jobs[kMostMatvecJobs];
  const void* x;
  int64_t x_stride;
  int x_rows, x_bf16, x_aligned;  // aligned: four values can be loaded at once
  int cols, chunk_cols;
};

/// The form of a kernel: kRowsOfX rows of x (more than there are: zeros).
template <int kM, int kL>
struct MatvecForm {
  static constexpr int kRowsOfX = kM, kLanes = kL;
  static constexpr int kThreads = kM == 1 ? 256 : 512;
  static constexpr int kRows = kM == 1 ? 1 : 2;
  static constexpr int kLeastBlocks = kM == 1 ? 4 : 1;
  static constexpr int kBatch = kThreads / kLanes * kRows;
};

/// Four values of row m from column `col` on; zeros past the last row or column.
__device__ inline float4 load_x4(const MatvecArgs& a, int m, int col) {
  float4 v = {0, 0, 0, 0};
  if (m >= a.x_rows) return v;
  const int64_t at = m * a.x_stride + col;
  if (a.x_bf16) {
    const auto* x = static_cast<const uint16_t*>(a.x) + at;
    if (a.x_aligned && col + 4 <= a.cols) {
      const uint2 w = *reinterpret_cast<const uint2*>(x);
      return {bf16_value(w.x & 0xffffu), float_of(w.x & 0xffff0000u), bf16_value(w.y & 0xffffu),
              float_of(w.y & 0xffff0000u)};
    }
    if (col < a.cols) v.x = bf16_value(x[0]);
    if (col + 1 < a.cols) v.y = bf16_value(x[1]);
    if (col + 2 < a.cols) v.z = bf16_value(x[2]);
    if (col + 3 < a.cols) v.w = bf16_value(x[3]);
    return v;
  }
  const float* x = static_cast<const float*>(a.x) + at;
  if (a.x_aligned && col + 4 <= a.cols) return *reinterpret_cast<const float4*>(x);
  if (col < a.cols) v.x = x[0];
  if (col + 1 < a.cols) v.y = x[1];
  if (col + 2 < a.cols) v.z = x[2];
  if (col + 3 < a.cols) v.w = x[3];
  return v;
}

/// Adds up over the lanes of a row and lets one of them write.
template <class Form>
__device__ void write_sums(const MatvecArgs::Job& job, int64_t first_row, int x_rows,
                           float (&sums)[Form::kRows][Form::kRowsOfX]) {
#pragma unroll
  for (int r = 0; r < Form::kRows; ++r) {
#pragma unroll
    for (int m = 0; m < Form::kRowsOfX; ++m) {
      float sum = sums[r][m];
#pragma unroll
      for (int distance = Form::kLanes / 2; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
      }
      const int64_t row = first_row + r;
      if (threadIdx.x % Form::kLanes == m && m < x_rows && row < job.rows) {
        float* y = job.y + m * job.y_stride + row;
        if (job.bias != nullptr) sum += job.bias[row];
        *y = job.add ? *y + sum : sum;
      }
    }
  }
}

/// Walk: stage(first column, columns) puts x into shared memory, add(job, row, last row, first
/// column, columns, sums) adds the products of a chunk.
template <class Form, class Stage, class Add>
__device__ void walk_batches(const MatvecArgs& a, int batches, Stage&& stage, Add&& add) {
  const int group = threadIdx.x / Form::kLanes;
  const bool one_chunk = a.chunk_cols >= a.cols;
  if (one_chunk) {
    stage(0, a.cols);
    __syncthreads();
  }
  int j = 0, begin = 0;
  for (int batch = blockIdx.x; batch < batches; batch += gridDim.x) {
    while (batch >= a.jobs[j].end) begin = a.jobs[j++].end;
    const MatvecArgs::Job& job = a.jobs[j];
    const int64_t row = static_cast<int64_t>(batch - begin) * Form::kBatch + group * Form::kRows;
    float sums[Form::kRows][Form::kRowsOfX] = {};
    for (int first = 0; first < a.cols; first += a.chunk_cols) {
      const int cols = min(a.chunk_cols, a.cols - first);
      if (!one_chunk) {
        __syncthreads();
        stage(first, cols);
        __syncthreads();
      }
      add(job, row, first, cols, sums);
    }
    write_sums<Form>(job, row, a.x_rows, sums);
  }
}

/// Blocks of a kernel that the device runs at the same time with `shared` bytes each, and whether
/// it may have them: allows the kernel to ask for more than 48 KiB. Remembered.
int resident_blocks(const void* kernel, int threads, size_t shared);

/// Shared memory that a block may use on the current device.
size_t most_shared_memory();

using MatvecKernel = void (*)(MatvecArgs args, int batches);

struct MatvecLaunch {
  MatvecKernel kernel;
  int threads, batch;    // weight rows that a block takes at a time
  size_t bytes_per_256;  // of shared memory for 256 columns
};

/// The kernel for a type, for `rows` of x; `lanes` 8 or 32.
MatvecLaunch plain_matvec(DType type, int64_t rows, int lanes);
MatvecLaunch block_matvec(DType type, int64_t rows, int lanes);        ///< blocks of 32
MatvecLaunch super_block_matvec(DType type, int64_t rows, int lanes);  ///< blocks of 256

}  // namespace longhaul::cuda
