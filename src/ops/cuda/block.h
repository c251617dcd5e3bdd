#pragma once
// A block of threads that works in phases: each(f) runs f(thread) for every thread and waits for
// all. On the GPU the threads are real; for g++ they are a loop, so that the same source is tested
// without a GPU.

#include <cstdint>

#include "ops/cuda/attend_records.h"

namespace longhaul::cuda {

inline constexpr int kBlockThreads = 1024;

/// Sums of all threads before each, and of all, in shared memory.
struct ScanShared {
  uint32_t of_warps[32];
  uint32_t before[kBlockThreads];
  uint32_t all;
};

struct HostBlock {
  template <class F>
  void each(F&& f) const {
    for (int t = 0; t < kBlockThreads; ++t) f(t);
  }
  void add(uint32_t& to, uint32_t x) const { to += x; }
  /// before[t] = sum of count(u) over threads u below t.
  template <class F>
  void scan(ScanShared& s, F&& count) const {
    s.all = 0;
    for (int t = 0; t < kBlockThreads; ++t) s.before[t] = s.all, s.all += count(t);
  }
};

#ifdef __CUDACC__
struct CudaBlock {
  template <class F>
  __device__ void each(F&& f) const {
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
  __device__ void add(uint32_t& to, uint32_t x) const { atomicAdd(&to, x); }
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
};
#endif

}  // namespace longhaul::cuda
