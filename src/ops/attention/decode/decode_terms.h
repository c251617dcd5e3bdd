#pragma once
// Functions that both implementations of the bf16 decode products share. For *.isa.cc only.

#include "ops/attention/key_rows.h"

namespace longhaul::LH_ISA {

/// Splits x into two terms, both rounded to bf16, with x = high + low approximately.
static inline void split_to_bf16(Vec x, uint16_t* high, uint16_t* low) {
  store_bf16(high, x);
  store_bf16(low, x - load_bf16(high));
}

/// Returns the index within a row of element t, after unpacklo and unpackhi have interleaved the
/// 16-bit elements of each 32.
static inline int unpacked_element(int t) {
  const int half = t / 16 % 2, column = t % 16;
  return t / 32 * 32 + column / 4 * 8 + half * 4 + column % 4;
}

/// Rows to prefetch, and the number of bytes of each.
struct RowsAhead {
  const std::byte* const* rows;
  int bytes;
};

/// Returns whether the bf16 products can read rows of this type. Q8_0 is excluded: its conversion
/// to bf16 would take as long as the conversion to f32.
static inline bool in_bf16(DType type) { return type == DType::BF16 || type == DType::Q4_0; }

}  // namespace longhaul::LH_ISA
