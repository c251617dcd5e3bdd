#pragma once
// What products of few rows in bf16 share. For *.isa.cc only.

#include "ops/attention/key_rows.h"

namespace longhaul::LH_ISA {

/// x = high + low, both rounded to bf16.
static inline void split_to_bf16(Vec x, uint16_t* high, uint16_t* low) {
  store_bf16(high, x);
  store_bf16(low, x - load_bf16(high));
}

/// Which element of a row stands at t after unpacklo/unpackhi of 16-bit elements, 32 at a time.
static inline int unpacked_element(int t) {
  const int half = t / 16 % 2, column = t % 16;
  return t / 32 * 32 + column / 4 * 8 + half * 4 + column % 4;
}

/// Rows that will be read soon, and how many bytes of each.
struct RowsAhead {
  const std::byte* const* rows;
  int bytes;
};

/// Whether products of bf16 read rows of the type. Q8_0 would have to be converted first, which
/// takes as long as converting it to f32 does.
static inline bool in_bf16(DType type) { return type == DType::BF16 || type == DType::Q4_0; }

}  // namespace longhaul::LH_ISA
