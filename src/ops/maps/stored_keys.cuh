#pragma once
// Reads single elements of stored keys and values of any type.

#include <cuda_runtime.h>

#include "ops/attention/attention.h"
#include "ops/attention/kv.h"
#include "ops/attention/stored_row.h"
#include "ops/core/gpu/mix_of_warp.cuh"

namespace longhaul::cuda {

/// The location and format of the keys, or of the values, of one KV head.
struct StoredRows {
  const std::byte* const* pages;
  PageType type;
  int head_dim, page_rows, row_bytes;
  int64_t in_page;  ///< byte offset of the first key or value in a page

  __device__ __forceinline__ const std::byte* row(int64_t i) const {
    const auto page = static_cast<uint32_t>(i) / static_cast<uint32_t>(page_rows);
    return pages[page] + in_page +
           (static_cast<int64_t>(i) - int64_t{page} * page_rows) * row_bytes;
  }
  /// Returns element t of the key or value at `row`. Keys in Q4_0 are stored Hadamard-rotated, and
  /// only a whole warp can undo this. All lanes must therefore call the function together: lane i
  /// requests element i of a block, and all lanes the same block.
  __device__ __forceinline__ float at(const std::byte* row, int t) const {
    switch (type) {
      case PageType::kF32:
        return reinterpret_cast<const float*>(row)[t];
      case PageType::kF16:
        return half_value(reinterpret_cast<const uint16_t*>(row)[t]);
      case PageType::kBF16:
        return bf16_value(reinterpret_cast<const uint16_t*>(row)[t]);
      case PageType::kQ8_0: {
        const std::byte* block = row + t / 32 * 34;
        return half_value(*reinterpret_cast<const uint16_t*>(block)) *
               static_cast<float>(reinterpret_cast<const int8_t*>(block)[2 + t % 32]);
      }
      default: {
        const std::byte* block = row + t / 32 * 18;
        const auto both = reinterpret_cast<const uint8_t*>(block)[2 + t % 16];
        const int level = t % 32 < 16 ? both & 15 : both >> 4;
        const float x =
            half_value(*reinterpret_cast<const uint16_t*>(block)) * static_cast<float>(level - 8);
        return type == PageType::kHadamardQ4_0 ? mix_of_warp(x) : x;
      }
    }
  }
};

/// Returns the description of keys that are stored in the format `form`. The pages may be set
/// later.
inline StoredRows keys_of(const KvForm& form, const std::byte* const* pages = nullptr) {
  const PageType type = page_type(form.type.k, true);
  return {pages, type, form.head_dim, form.page_rows, stored_bytes(type, form.head_dim), 0};
}
inline StoredRows values_of(const KvForm& form, const std::byte* const* pages = nullptr) {
  if (form.values_in_keys) return keys_of(form, pages);
  const PageType type = page_type(form.type.v, false);
  const auto keys = static_cast<int64_t>(bytes_of(form.type.k, form.head_dim)) * form.page_rows;
  return {pages, type, form.head_dim, form.page_rows, stored_bytes(type, form.head_dim), keys};
}
inline StoredRows keys_of(const PagedRows& rows) { return keys_of(form_of(rows), rows.listed); }
inline StoredRows values_of(const PagedRows& rows) { return values_of(form_of(rows), rows.listed); }

}  // namespace longhaul::cuda
