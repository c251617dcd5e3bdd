#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>

#include "base/assert.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/kernel_views.cuh"
#include "ops/core/gpu/reductions.cuh"
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

/// Sorts the thread block's keys, largest first. The result does not depend on their order.
template <int kCount>
__device__ void sort_keys(Key* keys) {
  for (int size = 2; size <= kCount; size *= 2) {
    for (int d = size / 2; d > 0; d /= 2) {
      __syncthreads();
      const int i = threadIdx.x, other = i ^ d;
      if (i >= kCount || other < i) continue;
      const Key a = keys[i], b = keys[other];
      if ((a < b) == ((i & size) == 0)) keys[i] = b, keys[other] = a;
    }
  }
  __syncthreads();
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
  sort_keys<kMostBestLogits>(best);
  for (int i = threadIdx.x; i < count; i += kThreads) {
    ids[i] = id_of(best[i]);
    values[i] = logit_of(best[i]);
  }
}

/// The largest finite candidate and the sum of exponentials relative to it.
struct ExpSum {
  float top, sum;
};

/// Memory of best_of_rows(): [rows, slices] sums and counts, [rows, slices, 64] keys.
struct RowsMemory {
  ExpSum* sums;
  int* not_finite;
  Key* keys;
};
constexpr int kMostBestOfRows = 64;
constexpr size_t kRowBytes =
    kMostSlices * (sizeof(ExpSum) + sizeof(int) + kMostBestOfRows * sizeof(Key));

__host__ __device__ RowsMemory rows_memory(std::byte* memory, int64_t rows) {
  RowsMemory of{};
  of.keys = reinterpret_cast<Key*>(memory);
  of.sums = reinterpret_cast<ExpSum*>(of.keys + rows * kMostSlices * kMostBestOfRows);
  of.not_finite = reinterpret_cast<int*>(of.sums + rows * kMostSlices);
  return of;
}

/// Returns the sum over the thread block, in a fixed order, in all threads.
__device__ float block_total(float x) {
  __shared__ float of_warps[32];
  x = warp_sum(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
  __syncthreads();
  return warp_sum(of_warps[threadIdx.x % 32]);
}

__device__ float block_top(float x) {
  __shared__ float of_warps[32];
  x = warp_max(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
  __syncthreads();
  return warp_max(of_warps[threadIdx.x % 32]);
}

__global__ void __launch_bounds__(kThreads)
    mask_kernel(float* logits, int64_t n, int64_t slice, const int64_t* masks, const uint64_t* bits,
                std::byte* memory) {
  const int64_t row = blockIdx.y;
  logits += row * n;
  const int64_t mask = masks == nullptr ? -1 : masks[row];
  const int64_t begin = blockIdx.x * slice, end = min(begin + slice, n);
  float not_finite = 0;  // exact: a slice has fewer than 2^24 logits
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    if (!isfinite(logits[i])) not_finite += 1;
    if (mask >= 0 && (bits[mask + i / 64] >> (i % 64) & 1) == 0) logits[i] = -INFINITY;
  }
  not_finite = block_total(not_finite);
  if (threadIdx.x != 0) return;
  rows_memory(memory, gridDim.y).not_finite[row * kMostSlices + blockIdx.x] =
      static_cast<int>(not_finite);
}

__global__ void change_kernel(float* logits, int64_t n, const LogitChange* changes, int64_t count) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= count) return;
  const LogitChange change = changes[i];
  if (change.token < 0 || change.token >= n) return;
  float& logit = logits[change.row * n + change.token];
  logit = (logit > 0 ? logit / change.factor : logit * change.factor) + change.add;
}

__device__ bool is_candidate(float logit) { return !isnan(logit) && logit != -INFINITY; }

__global__ void __launch_bounds__(kThreads)
    best_of_row_slices(const float* logits, int64_t n, int64_t slice, int count,
                       std::byte* memory) {
  const int64_t row = blockIdx.y, begin = blockIdx.x * slice, some = min(slice, n - begin);
  const RowsMemory to = rows_memory(memory, gridDim.y);
  logits += row * n;
  collect(LogitKeys{logits, begin}, some, count, to.keys + (row * gridDim.x + blockIdx.x) * count);
  float top = -INFINITY, sum = 0;
  for (int64_t i = begin + threadIdx.x; i < begin + some; i += kThreads) {
    if (is_candidate(logits[i])) top = fmaxf(top, fminf(logits[i], FLT_MAX));
  }
  top = block_top(top);
  for (int64_t i = begin + threadIdx.x; i < begin + some; i += kThreads) {
    if (is_candidate(logits[i])) sum += expf(fminf(logits[i], FLT_MAX) - top);
  }
  sum = block_total(sum);
  if (threadIdx.x == 0) to.sums[row * kMostSlices + blockIdx.x] = {top, sum};
}

__device__ SumsOfRow sums_of_row(const RowsMemory& of, int64_t row, int slices) {
  const ExpSum* const parts = of.sums + row * kMostSlices;
  float top = -INFINITY, sum = 0;
  int not_finite = 0;
  for (int s = 0; s < slices; ++s) {
    top = fmaxf(top, parts[s].top);
    not_finite += of.not_finite[row * kMostSlices + s];
  }
  if (top == -INFINITY) return {top, not_finite};
  for (int s = 0; s < slices; ++s) {
    if (parts[s].top != -INFINITY) sum += expf(parts[s].top - top) * parts[s].sum;
  }
  return {top + logf(sum), not_finite};
}

__global__ void __launch_bounds__(kThreads)
    best_of_row(int slices, int count, std::byte* memory, BestOfRow* to, SumsOfRow* sums) {
  __shared__ Key best[kMostBestOfRows];
  const int64_t row = blockIdx.x;
  const RowsMemory of = rows_memory(memory, gridDim.x);
  if (threadIdx.x < kMostBestOfRows) best[threadIdx.x] = 0;
  __syncthreads();
  const int64_t keys = static_cast<int64_t>(slices) * count;
  collect(StoredKeys{of.keys + row * keys}, keys, count, best);
  sort_keys<kMostBestOfRows>(best);
  if (threadIdx.x < count) {
    to[row * count + threadIdx.x] = {id_of(best[threadIdx.x]), logit_of(best[threadIdx.x])};
  }
  if (threadIdx.x == 0) sums[row] = sums_of_row(of, row, slices);
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

size_t best_of_rows_bytes(int64_t rows) { return static_cast<size_t>(rows) * kRowBytes; }

void mask_logits(Stream stream, float* logits, int64_t rows, int64_t n, const int64_t* masks,
                 const uint64_t* bits, std::byte* memory) {
  LH_ASSERT(rows >= 1 && rows <= 65535 && n > 0 && n < (int64_t{1} << 29));
  const int64_t slice = slice_of(n), slices = (n + slice - 1) / slice;
  const dim3 grid(static_cast<unsigned>(slices), static_cast<unsigned>(rows));
  mask_kernel<<<grid, kThreads, 0, stream>>>(logits, n, slice, masks, bits, memory);
  check_launch("mask_logits");
}

void change_logits(Stream stream, float* logits, int64_t n, const LogitChange* changes,
                   int64_t count) {
  if (count == 0) return;
  change_kernel<<<blocks_for(count, 256), 256, 0, stream>>>(logits, n, changes, count);
  check_launch("change_logits");
}

void best_of_rows(Stream stream, const float* logits, int64_t rows, int64_t n, int count,
                  std::byte* memory, BestOfRow* best, SumsOfRow* sums) {
  LH_ASSERT(count >= 1 && count <= kMostBestOfRows && rows >= 1 && rows <= 65535);
  const int64_t slice = slice_of(n), slices = (n + slice - 1) / slice;
  const dim3 grid(static_cast<unsigned>(slices), static_cast<unsigned>(rows));
  best_of_row_slices<<<grid, kThreads, 0, stream>>>(logits, n, slice, count, memory);
  check_launch("best_of_rows");
  best_of_row<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(static_cast<int>(slices), count,
                                                                    memory, best, sums);
  check_launch("best_of_rows");
}

}  // namespace longhaul::cuda
