#pragma once
// Interleaves two quarters of 64 elements. A dot product of 8 bytes of a quarter is then the sum of
// two dot products of 4 bytes (FactoredGroup::q_of_8). For *.isa.cc only.

#include <immintrin.h>

namespace longhaul::LH_ISA {
namespace {

/// Returns the first dword of each 8 bytes, alternately from a and b.
[[gnu::always_inline]] inline __m512i first_of_each_8(__m512i a, __m512i b) {
  return _mm512_mask_shuffle_epi32(a, 0xaaaa, b, static_cast<_MM_PERM_ENUM>(0b10'10'00'00));
}

/// Returns the second dword of each 8 bytes, alternately from a and b.
[[gnu::always_inline]] inline __m512i second_of_each_8(__m512i a, __m512i b) {
  return _mm512_mask_shuffle_epi32(b, 0x5555, a, static_cast<_MM_PERM_ENUM>(0b11'11'01'01));
}

}  // namespace
}  // namespace longhaul::LH_ISA
