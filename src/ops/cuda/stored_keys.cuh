#pragma once
// Numbers of stored keys and values, one at a time, whatever their type.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "ops/attention.h"
#include "ops/cuda/kv.h"

namespace longhaul::cuda {

struct StoredKeys {
  const std::byte* const* pages;
  DType type;
  int head_dim, page_rows, row_bytes;

  __device__ __forceinline__ const std::byte* row(int64_t i) const {
    const auto page = static_cast<uint32_t>(i) / static_cast<uint32_t>(page_rows);
    return pages[page] + (static_cast<int64_t>(i) - int64_t{page} * page_rows) * row_bytes;
  }
  __device__ __forceinline__ const std::byte* value_row(int64_t i) const {
    return row(i) + static_cast<int64_t>(page_rows) * row_bytes;
  }
  __device__ __forceinline__ float at(const std::byte* row, int t) const {
    switch (type) {
      case DType::F32:
        return reinterpret_cast<const float*>(row)[t];
      case DType::F16:
        return __half2float(reinterpret_cast<const __half*>(row)[t]);
      case DType::Q8_0: {
        const std::byte* block = row + t / 32 * 34;
        return __half2float(*reinterpret_cast<const __half*>(block)) *
               static_cast<float>(reinterpret_cast<const int8_t*>(block)[2 + t % 32]);
      }
      default:
        return __uint_as_float(static_cast<uint32_t>(reinterpret_cast<const uint16_t*>(row)[t])
                               << 16);
    }
  }
};

inline StoredKeys keys_of(const PagedRows& rows) {
  return {rows.listed, rows.type.k, rows.head_dim, rows.page_rows,
          static_cast<int>(rows.key_bytes())};
}
/// Of a list of the form, whose pages are named later.
inline StoredKeys keys_of(const KvForm& form) {
  return {nullptr, form.type, form.head_dim, form.page_rows,
          static_cast<int>(bytes_of(form.type, form.head_dim))};
}

}  // namespace longhaul::cuda
