#pragma once
// Computes the addresses of rows in pages, and stores rows in each KV type.

#include <cuda_runtime.h>

#include "ops/attention/kv.h"
#include "ops/core/gpu/over_elements.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/maps/stored_keys.cuh"

namespace longhaul::cuda {

/// The location and format of the keys, or of the values, within a page. All pages of a call have
/// the same PageSides.
struct PageSide {
  PageType type;
  int row_bytes;
  int64_t in_page;  ///< byte offset of the first key or value in a page
};

struct PageShape {
  int head_dim, page_rows;
  PageSide keys, values;
  bool values_in_keys;  ///< whether pages hold no values (PagedRows::values_in_keys)

  __device__ std::byte* row(PageTable pages, int64_t row, bool value) const {
    const PageSide side = value ? values : keys;
    const auto page = static_cast<uint32_t>(row) / static_cast<uint32_t>(page_rows);
    const int in_page = static_cast<int>(row) - static_cast<int>(page) * page_rows;
    return pages[page] + side.in_page + static_cast<int64_t>(in_page) * side.row_bytes;
  }
};

inline PageShape shape_of(const KvForm& form) {
  const StoredRows keys = keys_of(form), values = values_of(form);
  return {form.head_dim,
          form.page_rows,
          {keys.type, keys.row_bytes, keys.in_page},
          {values.type, values.row_bytes, values.in_page},
          form.values_in_keys};
}

/// Stores elements t to t + kRun - 1 of a key or value as f16.
template <int kRun>
__device__ __forceinline__ void store_f16(std::byte* row, int t, const Run<kRun>& x) {
  auto* p = reinterpret_cast<uint16_t*>(row) + t;
  if constexpr (kRun == 4) {
    const uint2 w = {half_bits(x.v[0]) | half_bits(x.v[1]) << 16,
                     half_bits(x.v[2]) | half_bits(x.v[3]) << 16};
    *reinterpret_cast<uint2*>(p) = w;
  } else {
    *p = static_cast<uint16_t>(half_bits(x.v[0]));
  }
}

/// Stores 32 numbers, one per lane of a warp, as a block of Q8_0. The address of the block is a
/// multiple of 2. Numbers are rounded as in ops/core/convert.h.
__device__ __forceinline__ void store_q8_0(std::byte* block, float x) {
  const float amax = warp_max(fabsf(x));
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

/// Stores 32 numbers, one per lane of a warp, as a block of Q4_0.
__device__ __forceinline__ void store_q4_0(std::byte* block, float x) {
  const int lane = threadIdx.x % 32;
  // Finds the number with the largest magnitude. If several have the same magnitude, the first of
  // them is used.
  float largest = x;
  int at = lane;
  for (int d = 16; d > 0; d /= 2) {
    const float other = __shfl_xor_sync(~0u, largest, d);
    const int other_at = __shfl_xor_sync(~0u, at, d);
    const float a = fabsf(other), b = fabsf(largest);
    if (a > b || (a == b && other_at < at)) largest = other, at = other_at;
  }
  const float scale = __fdiv_rn(largest, -8.0f);
  const uint32_t stored = half_bits(scale);
  const float inverse = half_value(stored) == 0 ? 0.0f : __fdiv_rn(1.0f, scale);
  float q = __fmul_rn(x, inverse);
  q = q < 7.0f ? q : 7.0f;
  q = q > -8.0f ? q : -8.0f;
  // `low` is the stored nibble: q rounded to an integer, plus 8.
  const uint32_t low = (bits_of(__fadd_rn(q, 12582920.0f)) - 0x4b400000u) & 15u;
  const uint32_t high = __shfl_down_sync(~0u, low, 16);
  const uint32_t own = low | high << 4, next = __shfl_down_sync(~0u, own, 1);
  auto* halves = reinterpret_cast<uint16_t*>(block);
  if (lane < 16 && lane % 2 == 0) halves[1 + lane / 2] = static_cast<uint16_t>(own | next << 8);
  if (lane == 0) halves[0] = static_cast<uint16_t>(stored);
}

}  // namespace longhaul::cuda
