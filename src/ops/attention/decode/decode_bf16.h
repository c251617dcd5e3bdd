#pragma once
// Selects the implementation of DecodeBf16 for the instruction-set level. DecodeBf16 multiplies the
// query rows of decoding by groups of at most 64 keys and values in bf16. It reads the stored rows
// directly. They are in bf16, or in a block format that is expanded in registers. Each query
// element and softmax weight is split into two bf16 terms (x = high + low), so that only keys and
// values lose precision. Keys that are rotated on read are rounded to bf16 twice. Include this only
// in *.isa.cc files, which are compiled once per instruction set.

#include "ops/attention/decode/decode_pairs.h"
#include "ops/attention/decode/decode_terms.h"
#include "ops/attention/decode/decode_tiles_amx.h"

namespace longhaul::LH_ISA {

#if defined(__AMX_BF16__)
using DecodeBf16 = DecodeTiles;
#elif defined(__AVX512BF16__)
using DecodeBf16 = DecodePairs;
#else
/// Placeholder for levels that cannot multiply bf16. It supports no head size.
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
