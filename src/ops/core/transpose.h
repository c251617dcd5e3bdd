#pragma once
// Transposes a small matrix in registers. Include this only in *.isa.cc files, which are compiled
// once per instruction set.

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>

namespace longhaul::LH_ISA {

/// Transposes a matrix of 16 x 16 elements of 32 bits. Row i of `in` becomes column i of `out`.
/// Rows of `out` begin `out_stride` elements apart.
static inline void transpose_16x16(const __m512i in[16], uint32_t* out, int out_stride) {
  __m512i t[16], u[16];
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(in[2 * i], in[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(in[2 * i], in[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    u[4 * i + 0] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {  // u[i], u[4+i], u[8+i] and u[12+i] hold columns i, 4+i, 8+i and
                                 // 12+i
    const __m512i a = _mm512_shuffle_i32x4(u[i], u[4 + i], 0x88);
    const __m512i b = _mm512_shuffle_i32x4(u[i], u[4 + i], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0x88);
    const __m512i d = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0xdd);
    _mm512_storeu_si512(out + (i + 0) * out_stride, _mm512_shuffle_i32x4(a, c, 0x88));
    _mm512_storeu_si512(out + (i + 4) * out_stride, _mm512_shuffle_i32x4(b, d, 0x88));
    _mm512_storeu_si512(out + (i + 8) * out_stride, _mm512_shuffle_i32x4(a, c, 0xdd));
    _mm512_storeu_si512(out + (i + 12) * out_stride, _mm512_shuffle_i32x4(b, d, 0xdd));
  }
}

}  // namespace longhaul::LH_ISA
#endif
