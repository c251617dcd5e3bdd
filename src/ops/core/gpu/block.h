#pragma once
// Interface to a CUDA thread block, for code that runs on the GPU and, in tests, on the host. The
// work of a block is divided into phases: each(f) runs f(thread) for every thread and then
// synchronises. CudaBlock uses the threads of the GPU. HostBlock simulates the threads by a loop.

#include <algorithm>
#include <cstdint>

#include "ops/attention/attend_records.h"

namespace longhaul::cuda {

#ifdef __CUDACC__
#define LH_PHASES __host__ __device__
#define LH_PRAGMA(text) _Pragma(#text)
#define LH_UNROLL(times) LH_PRAGMA(unroll times)  ///< unrolls the loop that follows
#else
#define LH_PHASES
#define LH_UNROLL(times)
#endif

inline constexpr int kBlockThreads = 1024;

/// Shared memory for a prefix sum of one number per thread. before[t] is the sum over the threads
/// below t, and `all` is the sum over all threads.
struct ScanShared {
  uint32_t of_warps[32];
  uint32_t before[kBlockThreads];
  uint32_t all;
};

/// Shared memory for N sums over all threads. The order of additions is fixed.
template <int N>
struct SumShared {
  double of_warps[32][N];
  double all[N];
};

/// Shared memory for the maximum of one float per thread.
struct LargestShared {
  float of_warps[32];
  float all;
};

/// Shared memory for the maximum of one key per thread. Consecutive calls of largest_key() use
/// alternating slots of `of_warps`. A call therefore need not wait for threads that still read the
/// result of the previous call.
struct LargestKeyShared {
  uint64_t of_warps[2][32];
};

struct HostBlock {
  template <class F>
  void each(F&& f) const {
    for (int t = 0; t < kBlockThreads; ++t) f(t);
  }
  /// Sets *to to *from. The value may be read after await_copies().
  void copy(float* to, const float* from) const { *to = *from; }
  void await_copies() const {}
  /// Adds x to `to` and returns the value of `to` before the addition.
  uint32_t add(uint32_t& to, uint32_t x) const { return (to += x) - x; }
  void set_bits(uint32_t& of, uint32_t bits) const { of |= bits; }
  /// Returns the number of threads for which yes(thread) is true. Every thread gets the result.
  template <class F>
  uint32_t count(F&& yes) const {
    uint32_t all = 0;
    for (int t = 0; t < kBlockThreads; ++t) all += yes(t) ? 1 : 0;
    return all;
  }
  /// Sets before[t] to the sum of count(u) over threads u below t.
  template <class F>
  void scan(ScanShared& s, F&& count) const {
    s.all = 0;
    for (int t = 0; t < kBlockThreads; ++t) s.before[t] = s.all, s.all += count(t);
  }
  /// Calls then(t, sum) for every thread t, after all threads have called count(). `sum` is the sum
  /// of count(u) over the threads u below t.
  template <class Count, class Then>
  void after_scan(ScanShared& s, Count&& count, Then&& then) const {
    scan(s, count);
    each([&](int t) { then(t, s.before[t]); });
  }
  /// Sets of_warps[w][n] to the sum over the threads t of warp w of the number that add(t, sums)
  /// adds to sums[n].
  template <int N, class F>
  void sums_of_warps(SumShared<N>& s, F&& add) const {
    for (int t = 0; t < kBlockThreads; ++t) {
      if (t % 32 == 0) std::fill_n(s.of_warps[t / 32], N, 0.0);
      add(t, s.of_warps[t / 32]);
    }
  }
  /// Returns the largest key(thread) over all threads. Every thread gets the result. `turn` must be
  /// 0 and 1 in alternating calls, so that these use different slots.
  template <class F>
  uint64_t largest_key(LargestKeyShared&, int /*turn*/, F&& key) const {
    uint64_t all = 0;
    for (int t = 0; t < kBlockThreads; ++t) all = std::max<uint64_t>(all, key(t));
    return all;
  }
  /// Calls add(t, own) for every thread t. add() adds the contributions of the thread to own[0] to
  /// own[N - 1]. Sets all[n] to the sum of the contributions of all threads to own[n].
  template <int N, class F>
  void sums(SumShared<N>& s, F&& add) const {
    for (double& sum : s.all) sum = 0;
    for (int t = 0; t < kBlockThreads; ++t) {
      double own[N] = {};
      add(t, own);
      for (int n = 0; n < N; ++n) s.all[n] += own[n];
    }
  }
  /// Sets s.all to the largest number(t) over all threads t. No number may be NaN.
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
  /// Starts a copy of one float to shared memory. The copy does not pass through a register, so the
  /// thread does not wait for the load. If `to` is not in shared memory, the float is copied at
  /// once.
  __device__ void copy(float* to, const float* from) const {
    if (__isShared(to)) {
      const auto there = static_cast<uint32_t>(__cvta_generic_to_shared(to));
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(there), "l"(from) : "memory");
    } else {
      *to = *from;
    }
  }
  __device__ void await_copies() const { asm volatile("cp.async.wait_all;" ::: "memory"); }
  __device__ uint32_t add(uint32_t& to, uint32_t x) const { return atomicAdd(&to, x); }
  __device__ void set_bits(uint32_t& of, uint32_t bits) const { atomicOr(&of, bits); }
  template <class F>
  __device__ uint32_t count(F&& yes) const {
    return static_cast<uint32_t>(__syncthreads_count(yes(static_cast<int>(threadIdx.x))));
  }
  /// Returns the sum of count(t) over all threads t below this one, and sets `all` to the sum over
  /// all threads. s.of_warps is in use until the next barrier.
  template <class F>
  __device__ uint32_t sum_before(ScanShared& s, F&& count, uint32_t& all) const {
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
    all = of_warps;  // lane 31 holds the sum of all warps
    return sum - own + (t < 32 ? 0 : before);
  }
  template <class F>
  __device__ void scan(ScanShared& s, F&& count) const {
    uint32_t all;
    s.before[threadIdx.x] = sum_before(s, count, all);
    if (threadIdx.x == kBlockThreads - 1) s.all = all;
    __syncthreads();
  }
  template <class Count, class Then>
  __device__ void after_scan(ScanShared& s, Count&& count, Then&& then) const {
    uint32_t all;
    const uint32_t before = sum_before(s, count, all);
    then(static_cast<int>(threadIdx.x), before);
    __syncthreads();
  }
  static __device__ double sum_of_warp(double x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
    return x;
  }
  template <int N, class F>
  __device__ void sums_of_warps(SumShared<N>& s, F&& add) const {
    const int t = static_cast<int>(threadIdx.x);
    double own[N] = {};
    add(t, own);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      // Most warps contribute only zeros to most of the N sums. Skipping these saves the shuffles,
      // each of which takes a clock cycle.
      if (N > 1 && !__any_sync(~0u, own[n] != 0)) {
        own[n] = 0;
      } else {
        own[n] = sum_of_warp(own[n]);
      }
      if (t % 32 == 0) s.of_warps[t / 32][n] = own[n];
    }
    __syncthreads();
  }
  static __device__ uint64_t largest_of_warp(uint64_t key) {
    const auto high = static_cast<uint32_t>(key >> 32), low = static_cast<uint32_t>(key);
    const uint32_t top = __reduce_max_sync(~0u, high);
    return uint64_t{top} << 32 | __reduce_max_sync(~0u, high == top ? low : 0);
  }
  template <class F>
  __device__ uint64_t largest_key(LargestKeyShared& s, int turn, F&& key) const {
    const int t = static_cast<int>(threadIdx.x);
    const uint64_t own = largest_of_warp(key(t));
    if (t % 32 == 0) s.of_warps[turn][t / 32] = own;
    __syncthreads();
    return largest_of_warp(s.of_warps[turn][t % 32]);
  }
  template <int N, class F>
  __device__ void sums(SumShared<N>& s, F&& add) const {
    static_assert(N <= kBlockThreads / 32);
    sums_of_warps(s, add);
    const int lane = static_cast<int>(threadIdx.x) % 32, n = static_cast<int>(threadIdx.x) / 32;
    if (n < N) {
      const double sum = sum_of_warp(s.of_warps[lane][n]);
      if (lane == 0) s.all[n] = sum;
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
