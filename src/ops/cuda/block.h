#pragma once
// A block of threads that works in phases: each(f) runs f(thread) for every thread and waits for
// all. On the GPU the threads are real; for g++ they are a loop, so that the same source is tested
// without a GPU.

#include <cstdint>

#include "ops/cuda/attend_records.h"

namespace longhaul::cuda {

#ifdef __CUDACC__
#define LH_PHASES __host__ __device__
#else
#define LH_PHASES
#endif

inline constexpr int kBlockThreads = 1024;

/// Sums of all threads before each, and of all, in shared memory.
struct ScanShared {
  uint32_t of_warps[32];
  uint32_t before[kBlockThreads];
  uint32_t all;
};

/// Sums of N numbers over all threads, in a fixed order, in shared memory.
template <int N>
struct SumShared {
  double of_warps[32][N];
  double all[N];
};

/// The largest number of all threads.
struct LargestShared {
  float of_warps[32];
  float all;
};

struct HostBlock {
  template <class F>
  void each(F&& f) const {
    for (int t = 0; t < kBlockThreads; ++t) f(t);
  }
  /// Returns what was there before.
  uint32_t add(uint32_t& to, uint32_t x) const { return (to += x) - x; }
  void set_bits(uint32_t& of, uint32_t bits) const { of |= bits; }
  /// before[t] = sum of count(u) over threads u below t.
  template <class F>
  void scan(ScanShared& s, F&& count) const {
    s.all = 0;
    for (int t = 0; t < kBlockThreads; ++t) s.before[t] = s.all, s.all += count(t);
  }
  /// all[n] = sum over threads of what add(thread, numbers) adds to numbers[n].
  template <int N, class F>
  void sums(SumShared<N>& s, F&& add) const {
    for (double& sum : s.all) sum = 0;
    for (int t = 0; t < kBlockThreads; ++t) {
      double own[N] = {};
      add(t, own);
      for (int n = 0; n < N; ++n) s.all[n] += own[n];
    }
  }
  /// The largest number(thread), none of which is NaN.
  template <class F>
  void largest(LargestShared& s, F&& number) const {
    s.all = number(0);
    for (int t = 1; t < kBlockThreads; ++t) {
      const float x = number(t);
      if (x > s.all) s.all = x;
    }
  }
};

#ifdef __CUDACC__
struct CudaBlock {
  template <class F>
  __device__ void each(F&& f) const {
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
  __device__ uint32_t add(uint32_t& to, uint32_t x) const { return atomicAdd(&to, x); }
  __device__ void set_bits(uint32_t& of, uint32_t bits) const { atomicOr(&of, bits); }
  template <class F>
  __device__ void scan(ScanShared& s, F&& count) const {
    const int t = static_cast<int>(threadIdx.x), lane = t % 32;
    const uint32_t own = count(t);
    uint32_t sum = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const uint32_t below = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += below;
    }
    if (lane == 31) s.of_warps[t / 32] = sum;
    __syncthreads();
    uint32_t of_warps = s.of_warps[lane];
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const uint32_t below = __shfl_up_sync(~0u, of_warps, step);
      if (lane >= step) of_warps += below;
    }
    const uint32_t before = __shfl_sync(~0u, of_warps, (t / 32 + 31) % 32);
    s.before[t] = sum - own + (t < 32 ? 0 : before);
    if (t == kBlockThreads - 1) s.all = of_warps;  // of lane 31: all warps
    __syncthreads();
  }
  template <int N, class F>
  __device__ void sums(SumShared<N>& s, F&& add) const {
    const int t = static_cast<int>(threadIdx.x);
    double own[N] = {};
    add(t, own);
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) own[n] += __shfl_xor_sync(~0u, own[n], step);
      if (t % 32 == 0) s.of_warps[t / 32][n] = own[n];
    }
    __syncthreads();
    if (t < N) {
      double sum = 0;
      for (int w = 0; w < 32; ++w) sum += s.of_warps[w][t];
      s.all[t] = sum;
    }
    __syncthreads();
  }
  template <class F>
  __device__ void largest(LargestShared& s, F&& number) const {
    const int t = static_cast<int>(threadIdx.x);
    float own = number(t);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) own = fmaxf(own, __shfl_xor_sync(~0u, own, step));
    if (t % 32 == 0) s.of_warps[t / 32] = own;
    __syncthreads();
    if (t == 0) {
      for (int w = 1; w < 32; ++w) own = fmaxf(own, s.of_warps[w]);
      s.all = own;
    }
    __syncthreads();
  }
};
#endif

}  // namespace longhaul::cuda
