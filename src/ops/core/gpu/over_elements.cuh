#pragma once
// Loops over the elements of an array of rows. A thread processes runs of kRun consecutive
// elements. kRun is 4 if the addresses allow loads of 16 bytes (f32) or 8 bytes (bf16), and
// otherwise 1. An operation on bf16 may also use runs of 8, which are loads of 16 bytes.

#include <cuda_runtime.h>

#include <bit>

#include "base/assert.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/kernel_views.cuh"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

template <int kRun>
struct Run {
  float v[kRun];
};

template <int kRun>
__device__ Run<kRun> load_run(const float* p) {
  if constexpr (kRun == 4) {
    return std::bit_cast<Run<4>>(*reinterpret_cast<const float4*>(p));
  } else {
    static_assert(kRun == 1);
    return {*p};
  }
}

template <int kRun>
__device__ Run<kRun> load_run(const uint16_t* p) {
  if constexpr (kRun == 8) {
    const uint4 w = *reinterpret_cast<const uint4*>(p);
    const uint32_t pairs[4] = {w.x, w.y, w.z, w.w};
    Run<8> run;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      run.v[i] = float_of(i % 2 == 0 ? pairs[i / 2] << 16 : pairs[i / 2] & 0xffff0000u);
    }
    return run;
  } else if constexpr (kRun == 4) {
    const uint2 w = *reinterpret_cast<const uint2*>(p);
    return {float_of(w.x << 16), float_of(w.x & 0xffff0000u), float_of(w.y << 16),
            float_of(w.y & 0xffff0000u)};
  } else {
    return {bf16_value(*p)};
  }
}

template <int kRun>
__device__ void store_run(float* p, const Run<kRun>& x) {
  if constexpr (kRun == 4) {
    *reinterpret_cast<float4*>(p) = std::bit_cast<float4>(x);
  } else {
    static_assert(kRun == 1);
    *p = x.v[0];
  }
}

template <int kRun>
__device__ void store_run(uint16_t* p, const Run<kRun>& x) {
  if constexpr (kRun == 8) {
    *reinterpret_cast<uint4*>(p) = {two_bf16(x.v[0], x.v[1]), two_bf16(x.v[2], x.v[3]),
                                    two_bf16(x.v[4], x.v[5]), two_bf16(x.v[6], x.v[7])};
  } else if constexpr (kRun == 4) {
    const uint2 w = {two_bf16(x.v[0], x.v[1]), two_bf16(x.v[2], x.v[3])};
    *reinterpret_cast<uint2*>(p) = w;
  } else {
    *p = static_cast<uint16_t>(bf16_bits(x.v[0]));
  }
}

template <int kRun, class Op>
__global__ void __launch_bounds__(256) over_rows_kernel(Op op, int64_t rows, int64_t runs) {
  const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.y) + threadIdx.y;
  const int64_t step = static_cast<int64_t>(gridDim.y) * blockDim.x;
  await_turn();
  if (row >= rows) return;
  for (int64_t run = blockIdx.y * static_cast<int64_t>(blockDim.x) + threadIdx.x; run < runs;
       run += step) {
    op.template apply<kRun>(row, run * kRun);
  }
}

/// Calls op.apply<kRun>(row, column) for every run of an array [rows, n]. `column` is the first
/// column of the run.
template <int kRun, class Op>
void over_runs(Stream stream, const char* name, int64_t rows, int64_t n, const Op& op) {
  if (rows <= 0 || n <= 0) return;
  LH_ASSERT(n % kRun == 0);
  const int64_t runs = n / kRun;
  unsigned across = 32;
  while (across < 256 && across < runs) across *= 2;
  const dim3 threads(across, 256 / across);
  const dim3 grid(static_cast<unsigned>((rows + threads.y - 1) / threads.y),
                  static_cast<unsigned>(std::min<int64_t>((runs + across - 1) / across, 32768)));
  launch_early(stream, name, over_rows_kernel<kRun, Op>, grid, threads, 0, op, rows, runs);
}

/// Like over_runs(), with runs of 4 elements if `runs_of_four` is true and runs of 1 otherwise.
template <class Op>
void over_rows(Stream stream, const char* name, int64_t rows, int64_t n, bool runs_of_four,
               const Op& op) {
  if (runs_of_four && n % 4 == 0) return over_runs<4>(stream, name, rows, n, op);
  over_runs<1>(stream, name, rows, n, op);
}

/// Like over_rows(), for one row of `count` elements. If `runs_of_four` is true and `count` is not
/// a multiple of 4, the last elements are processed one by one.
template <class Op>
void over_all(Stream stream, const char* name, int64_t count, bool runs_of_four, const Op& op) {
  const int64_t whole = runs_of_four ? count / 4 * 4 : 0;
  over_rows(stream, name, 1, whole, true, op);
  over_rows(stream, name, 1, count - whole, false, op.from(whole));
}

}  // namespace longhaul::cuda
