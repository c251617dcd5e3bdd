#pragma once
// Where a row of a list of pages lies, and its numbers in each KV type.

#include <cuda_runtime.h>

#include "ops/cuda/kv.h"
#include "ops/cuda/over_elements.cuh"

namespace longhaul::cuda {

struct PageShape {
  int head_dim, page_rows;
  int row_bytes;

  __device__ std::byte* row(PageTable pages, int64_t row, bool value) const {
    const auto page = static_cast<uint32_t>(row) / static_cast<uint32_t>(page_rows);
    const int in_page = static_cast<int>(row) - static_cast<int>(page) * page_rows;
    return pages[page] + static_cast<int64_t>(in_page + (value ? page_rows : 0)) * row_bytes;
  }
};

inline PageShape shape_of(const KvForm& form) {
  return {form.head_dim, form.page_rows, static_cast<int>(bytes_of(form.type, form.head_dim))};
}

/// A row of plain numbers, kRun at a time.
struct KvF32 {
  template <int kRun>
  __device__ static void store(std::byte* row, int t, const Run<kRun>& x) {
    store_run(reinterpret_cast<float*>(row) + t, x);
  }
  template <int kRun>
  __device__ static Run<kRun> load(const std::byte* row, int t) {
    return load_run<kRun>(reinterpret_cast<const float*>(row) + t);
  }
};

struct KvBF16 {
  template <int kRun>
  __device__ static void store(std::byte* row, int t, const Run<kRun>& x) {
    store_run(reinterpret_cast<uint16_t*>(row) + t, x);
  }
  template <int kRun>
  __device__ static Run<kRun> load(const std::byte* row, int t) {
    return load_run<kRun>(reinterpret_cast<const uint16_t*>(row) + t);
  }
};

struct KvF16 {
  template <int kRun>
  __device__ static void store(std::byte* row, int t, const Run<kRun>& x) {
    auto* p = reinterpret_cast<uint16_t*>(row) + t;
    if constexpr (kRun == 4) {
      const uint2 w = {half_bits(x.v[0]) | half_bits(x.v[1]) << 16,
                       half_bits(x.v[2]) | half_bits(x.v[3]) << 16};
      *reinterpret_cast<uint2*>(p) = w;
    } else {
      *p = static_cast<uint16_t>(half_bits(x.v[0]));
    }
  }
  template <int kRun>
  __device__ static Run<kRun> load(const std::byte* row, int t) {
    const auto* p = reinterpret_cast<const uint16_t*>(row) + t;
    Run<kRun> x;
    for (int i = 0; i < kRun; ++i) x.v[i] = half_value(p[i]);
    return x;
  }
};

/// 32 values of a warp, one a lane, to a block of Q8_0 at a 2-byte aligned address; rounds as
/// ops/convert.h does.
__device__ __forceinline__ void store_q8_0(std::byte* block, float x) {
  float amax = fabsf(x);
  for (int d = 16; d > 0; d /= 2) amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, d));
  const uint32_t scale = half_bits(__fdiv_rn(amax, 127.0f));
  const float stored = half_value(scale);
  const float inverse = stored > 0 ? __fdiv_rn(1.0f, stored) : 0.0f;
  float q = __fmul_rn(x, inverse);
  q = q < 127.0f ? q : 127.0f;
  q = q > -127.0f ? q : -127.0f;
  const uint32_t own = (bits_of(__fadd_rn(q, 12582912.0f)) - 0x4b400000u) & 255u;
  const uint32_t next = __shfl_down_sync(~0u, own, 1);
  const int lane = threadIdx.x % 32;
  auto* halves = reinterpret_cast<uint16_t*>(block);
  if (lane % 2 == 0) halves[1 + lane / 2] = static_cast<uint16_t>(own | next << 8);
  if (lane == 0) halves[0] = static_cast<uint16_t>(scale);
}

__device__ __forceinline__ float load_q8_0(const std::byte* block, int i) {
  const float scale = half_value(*reinterpret_cast<const uint16_t*>(block));
  return scale * static_cast<float>(reinterpret_cast<const signed char*>(block)[2 + i]);
}

}  // namespace longhaul::cuda
