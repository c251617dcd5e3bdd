#pragma once
// Selects the implementation of DecodeBf16 for the instruction-set level. DecodeBf16 multiplies
// decode query rows by groups of at most 64 keys and values in bf16. It reads stored rows directly,
// either in BF16 or in block formats that are expanded in registers. Queries and weights are split
// into two bf16 terms (value = high + low). Therefore only keys and values lose precision by
// rounding to bf16. Keys that are rotated first are rounded twice. For *.isa.cc only.

#include "ops/attention/decode/decode_pairs.h"
#include "ops/attention/decode/decode_terms.h"
#include "ops/attention/decode/decode_tiles_amx.h"

namespace longhaul::LH_ISA {

#if defined(__AMX_BF16__)
using DecodeBf16 = DecodeTiles;
#elif defined(__AVX512BF16__)
using DecodeBf16 = DecodePairs;
#else
/// Placeholder for levels without bf16 products. It supports no head size.
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
