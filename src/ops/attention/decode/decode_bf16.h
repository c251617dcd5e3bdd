#pragma once
// DecodeBf16: products of decode query rows with groups of at most 64 keys and values in bf16,
// directly from stored rows (BF16, or block formats expanded in registers). Queries and weights are
// split into two bf16 terms (value = high + low), so that only keys and values carry bf16's
// rounding (twice for keys that are rotated first). For *.isa.cc only.

#include "ops/attention/decode/decode_pairs.h"
#include "ops/attention/decode/decode_terms.h"
#include "ops/attention/decode/decode_tiles_amx.h"

namespace longhaul::LH_ISA {

#if defined(__AMX_BF16__)
using DecodeBf16 = DecodeTiles;
#elif defined(__AVX512BF16__)
using DecodeBf16 = DecodePairs;
#else
/// Variant without bf16 products.
class DecodeBf16 {
 public:
  static constexpr int kKeys = 64;
  static bool serves(int) { return false; }
  struct Scratch {
    Scratch(ScratchLayout&, int) {}
  };
  DecodeBf16(int, int, const Scratch&) {}
  static void begin() {}
  static void end() {}
  void load_queries(const float*) {}
  void read_as(DType, DType) {}
  void score(const std::byte* const*, int, int, float*, const RowsAhead&) {}
  void scale_row(int, float) {}
  void add_values(const std::byte* const*, int, const float*, const RowsAhead&) {}
  void read_sums(float*) const {}
};
#endif

}  // namespace longhaul::LH_ISA
