#pragma once
// Functions that both implementations of DecodeBf16 (decode_bf16.h) use. Include this only in
// *.isa.cc files, which are compiled once per instruction set.

#include "ops/attention/key_rows.h"

namespace longhaul::LH_ISA {

/// Splits x into two bf16 terms whose sum is approximately x.
static inline void split_to_bf16(Vec x, uint16_t* high, uint16_t* low) {
  store_bf16(high, x);
  store_bf16(low, x - load_bf16(high));
}

/// The instructions unpacklo and unpackhi reorder the 16-bit elements of each group of 32 when they
/// interleave two rows. Returns which element of a row is at place t after this.
static inline int unpacked_element(int t) {
  const int half = t / 16 % 2, column = t % 16;
  return t / 32 * 32 + column / 4 * 8 + half * 4 + column % 4;
}

/// Stored rows to prefetch, and the number of bytes of each.
struct RowsAhead {
  const std::byte* const* rows;
  int bytes;
};

/// Returns whether DecodeBf16 reads rows of this type. It does not read Q8_0, whose conversion to
/// bf16 would take as long as the conversion to f32.
static inline bool in_bf16(DType type) { return type == DType::BF16 || type == DType::Q4_0; }

}  // namespace longhaul::LH_ISA
