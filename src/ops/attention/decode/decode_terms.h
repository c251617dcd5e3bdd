#pragma once
// Shared parts of the bf16 decode products. For *.isa.cc only.

#include "ops/attention/key_rows.h"

namespace longhaul::LH_ISA {

/// Splits x into high + low, both rounded to bf16.
static inline void split_to_bf16(Vec x, uint16_t* high, uint16_t* low) {
  store_bf16(high, x);
  store_bf16(low, x - load_bf16(high));
}

/// Returns the index within a row of element t, after unpacklo and unpackhi of 16-bit elements, 32
/// at a time.
static inline int unpacked_element(int t) {
  const int half = t / 16 % 2, column = t % 16;
  return t / 32 * 32 + column / 4 * 8 + half * 4 + column % 4;
}

/// Rows to prefetch, and the number of bytes of each.
struct RowsAhead {
  const std::byte* const* rows;
  int bytes;
};

/// Returns whether bf16 products can read rows of the type. Q8_0 would need a conversion, which
/// takes as long as a conversion to f32.
static inline bool in_bf16(DType type) { return type == DType::BF16 || type == DType::Q4_0; }

}  // namespace longhaul::LH_ISA
