#pragma once
// Reorders two vectors a and b of 64 bytes for dot products of 8 bytes. One result holds the first
// 4 of each 8 bytes of a and b, the other the last 4. If a dot-product instruction for 4 bytes
// processes both results with the same accumulator, it yields dot products of 8 bytes
// (FactoredGroup::q_of_8). Include this only in *.isa.cc files, which are compiled once per
// instruction set.

#include <immintrin.h>

namespace longhaul::LH_ISA {
namespace {

/// Returns the first 4 of each 8 bytes, alternating between a and b.
[[gnu::always_inline]] inline __m512i first_of_each_8(__m512i a, __m512i b) {
  return _mm512_mask_shuffle_epi32(a, 0xaaaa, b, static_cast<_MM_PERM_ENUM>(0b10'10'00'00));
}

/// Returns the last 4 of each 8 bytes, alternating between a and b.
[[gnu::always_inline]] inline __m512i second_of_each_8(__m512i a, __m512i b) {
  return _mm512_mask_shuffle_epi32(b, 0x5555, a, static_cast<_MM_PERM_ENUM>(0b11'11'01'01));
}

}  // namespace
}  // namespace longhaul::LH_ISA
