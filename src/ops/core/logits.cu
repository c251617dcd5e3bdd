#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>

#include "base/assert.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/kernel_views.cuh"
#include "ops/core/logits.gpu.h"

namespace longhaul::cuda {
namespace {

using Key = unsigned long long;  // larger is better; no two candidates have the same; 0: none

constexpr int kThreads = 1024;
constexpr int kMostSlices = 32;  // slices per row of logits, one thread block each
constexpr size_t kKeysPerRow = kMostSlices * kMostBestLogits;

/// Sortable key: the logit's bits in numeric order, then the inverted index.
__device__ Key key_of(float logit, int64_t id) {
  if (isnan(logit) || logit == -INFINITY) return 0;
  const uint32_t bits = bits_of(fminf(logit, FLT_MAX) + 0.0f);  // -0 counts as 0
  const uint32_t ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
  return static_cast<Key>(ordered) << 32 | (0xffffffffu - static_cast<uint32_t>(id));
}

__device__ int32_t id_of(Key key) {
  return key == 0 ? -1 : static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(key));
}

__device__ float logit_of(Key key) {
  if (key == 0) return -INFINITY;
  const auto ordered = static_cast<uint32_t>(key >> 32);
  return float_of(ordered >> 31 ? ordered & 0x7fffffffu : ~ordered);
}

/// Returns the largest key of the thread block in thread 0.
__device__ Key block_max(Key key) {
  __shared__ Key keys[32];
  for (int d = 16; d > 0; d /= 2) key = max(key, __shfl_xor_sync(~0u, key, d));
  if (threadIdx.x % 32 == 0) keys[threadIdx.x / 32] = key;
  __syncthreads();
  key = threadIdx.x < kThreads / 32 ? keys[threadIdx.x] : 0;
  for (int d = 16; d > 0; d /= 2) key = max(key, __shfl_xor_sync(~0u, key, d));
  return key;
}

/// One thread block per slice. The last one to finish its slice of a row compares all slices.
__global__ void __launch_bounds__(kThreads)
    argmax_kernel(const float* logits, int64_t n, int64_t slice, Key* keys, unsigned* done,
                  int32_t* best) {
  logits += blockIdx.y * n;
  keys += blockIdx.y * kKeysPerRow;
  const int64_t begin = blockIdx.x * slice, end = min(begin + slice, n);
  Key key = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    key = max(key, key_of(logits[i], i));
  }
  key = block_max(key);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    keys[blockIdx.x] = key;
    __threadfence();
    last = atomicInc(done + blockIdx.y, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0
  }
  __syncthreads();
  if (!last || threadIdx.x >= 32) return;
  __threadfence();
  key = threadIdx.x < gridDim.x ? __ldcg(keys + threadIdx.x) : 0;
  for (int d = 16; d > 0; d /= 2) key = max(key, __shfl_xor_sync(~0u, key, d));
  if (threadIdx.x == 0) best[blockIdx.y] = id_of(key);
}

struct LogitKeys {
  const float* logits;
  int64_t first;
  __device__ Key operator()(int64_t i) const { return key_of(logits[first + i], first + i); }
};

struct StoredKeys {
  const Key* keys;
  __device__ Key operator()(int64_t i) const { return keys[i]; }
};

/// Returns the smallest of the `count` largest keys, found by digits of 8 bits. Returns 1 if fewer
/// keys differ from 0.
template <class Keys>
__device__ Key least_chosen(const Keys& keys, int64_t n, int count) {
  __shared__ int bins[257];  // count per digit; then number of keys with that digit or a larger one
  __shared__ int wanted, digit, at_digit;
  if (threadIdx.x == 0) wanted = count;
  Key prefix = 0, mask = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    for (int i = threadIdx.x; i < 257; i += kThreads) bins[i] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n; i += kThreads) {
      const Key key = keys(i);
      if (key != 0 && (key & mask) == prefix) atomicAdd(bins + (key >> shift & 255), 1);
    }
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
      const int more = threadIdx.x < 256 && threadIdx.x + d < 256 ? bins[threadIdx.x + d] : 0;
      __syncthreads();
      if (threadIdx.x < 256) bins[threadIdx.x] += more;
      __syncthreads();
    }
    if (bins[0] < wanted) return 1;  // can happen only in the first pass
    const int need = wanted;
    __syncthreads();
    if (threadIdx.x < 256 && bins[threadIdx.x] >= need && bins[threadIdx.x + 1] < need) {
      digit = threadIdx.x;
      at_digit = bins[threadIdx.x] - bins[threadIdx.x + 1];
      wanted = need - bins[threadIdx.x + 1];
    }
    __syncthreads();
    prefix |= static_cast<Key>(digit) << shift;
    mask |= static_cast<Key>(255) << shift;
    if (at_digit == wanted) break;  // all keys with this prefix are chosen
  }
  return max(prefix, Key{1});
}

/// Writes the chosen keys in arbitrary order, then zeros up to `count`.
template <class Keys>
__device__ void collect(const Keys& keys, int64_t n, int count, Key* out) {
  const Key least = least_chosen(keys, n, count);
  __shared__ int found;
  __syncthreads();
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const Key key = keys(i);
    if (key >= least) out[atomicAdd(&found, 1)] = key;
  }
  __syncthreads();
  for (int i = found + threadIdx.x; i < count; i += kThreads) out[i] = 0;
}

__global__ void __launch_bounds__(kThreads)
    best_of_slices(const float* logits, int64_t n, int64_t slice, int count, Key* keys) {
  const int64_t begin = blockIdx.x * slice;
  collect(LogitKeys{logits, begin}, min(slice, n - begin), count, keys + blockIdx.x * count);
}

__global__ void __launch_bounds__(kThreads)
    best_of_best(const Key* keys, int64_t n, int count, int32_t* ids, float* values) {
  __shared__ Key best[kMostBestLogits];
  for (int i = threadIdx.x; i < kMostBestLogits; i += kThreads) best[i] = 0;
  __syncthreads();
  collect(StoredKeys{keys}, n, count, best);
  // Bitonic sort, largest first. The result does not depend on the order in which keys were found.
  for (int size = 2; size <= kMostBestLogits; size *= 2) {
    for (int d = size / 2; d > 0; d /= 2) {
      __syncthreads();
      const int i = threadIdx.x, other = i ^ d;
      if (i >= kMostBestLogits || other < i) continue;
      const Key a = best[i], b = best[other];
      if ((a < b) == ((i & size) == 0)) best[i] = b, best[other] = a;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += kThreads) {
    ids[i] = id_of(best[i]);
    values[i] = logit_of(best[i]);
  }
}

/// Logits per slice. Rows are divided into few slices, but small ones.
int64_t slice_of(int64_t n) { return std::max<int64_t>(4096, (n + kMostSlices - 1) / kMostSlices); }

Key* keys_in(const LogitScratch& scratch) { return reinterpret_cast<Key*>(scratch.data()); }

}  // namespace

LogitScratch::LogitScratch(Stream stream, int64_t rows)
    : memory_(static_cast<size_t>(rows) * (kKeysPerRow * sizeof(Key) + sizeof(unsigned))),
      rows_(rows) {
  check(cudaMemsetAsync(memory_.data(), 0, memory_.bytes(), stream), "cudaMemsetAsync");
}

void argmax(Stream stream, const float* logits, int64_t rows, int64_t n,
            const LogitScratch& scratch, int32_t* best) {
  LH_ASSERT(rows <= scratch.rows() && rows <= 65535 && n > 0 && n < (int64_t{1} << 31));
  if (rows == 0) return;
  const int64_t slice = slice_of(n);
  const dim3 grid(static_cast<unsigned>((n + slice - 1) / slice), static_cast<unsigned>(rows));
  auto* done = reinterpret_cast<unsigned*>(keys_in(scratch) +
                                           static_cast<size_t>(scratch.rows()) * kKeysPerRow);
  argmax_kernel<<<grid, kThreads, 0, stream>>>(logits, n, slice, keys_in(scratch), done, best);
  check_launch("argmax");
}

void best_logits(Stream stream, const float* logits, int64_t n, int count,
                 const LogitScratch& scratch, int32_t* ids, float* values) {
  LH_ASSERT(count >= 1 && count <= kMostBestLogits && scratch.rows() >= 1);
  LH_ASSERT(n > 0 && n < (int64_t{1} << 31));
  const int64_t slice = slice_of(n), slices = (n + slice - 1) / slice;
  best_of_slices<<<static_cast<unsigned>(slices), kThreads, 0, stream>>>(logits, n, slice, count,
                                                                         keys_in(scratch));
  check_launch("best_logits");
  best_of_best<<<1, kThreads, 0, stream>>>(keys_in(scratch), slices * count, count, ids, values);
  check_launch("best_logits");
}

}  // namespace longhaul::cuda
