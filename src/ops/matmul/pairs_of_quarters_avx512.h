#pragma once
// Two quarters of 64 elements side by side, so that two dot products of 4 bytes add up to one of 8
// for each quarter (FactoredGroup::q_of_8). For *.isa.cc only.

#include <immintrin.h>

namespace longhaul::LH_ISA {
namespace {

/// The first dword of each 8 bytes of a and of b in turn.
[[gnu::always_inline]] inline __m512i first_of_each_8(__m512i a, __m512i b) {
  return _mm512_mask_shuffle_epi32(a, 0xaaaa, b, static_cast<_MM_PERM_ENUM>(0b10'10'00'00));
}

/// The second dword of each 8 bytes of a and of b in turn.
[[gnu::always_inline]] inline __m512i second_of_each_8(__m512i a, __m512i b) {
  return _mm512_mask_shuffle_epi32(b, 0x5555, a, static_cast<_MM_PERM_ENUM>(0b11'11'01'01));
}

}  // namespace
}  // namespace longhaul::LH_ISA
