#pragma once
// For *.isa.cc only.

#include <cstdint>

#if defined(__AMX_BF16__)
#include <immintrin.h>

namespace longhaul::LH_ISA {

/// Palette 1: eight tiles of 16 rows x 64 bytes. A constant, since the compiler is told only of the
/// first bytes that the instruction reads.
alignas(64) static const uint8_t kTileConfig[64] = {
    1,  0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 64, 0,  64, 0,  64, 0,  64, 0,
    64, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 0,  0, 16, 16, 16, 16, 16, 16, 16, 16};

static inline void load_tile_config() { _tile_loadconfig(kTileConfig); }

/// A pair of tiles walked along k: 16 rows `row_bytes` apart each, the next pair `step` elements
/// on.
struct TilePair {
  const uint16_t* first;
  const uint16_t* second;
  int64_t row_bytes;
  int64_t step;
};

/// C[32, 32] = A B, or +=, over `k_tiles` tiles of 32 k: two by two tiles of C, so that each loaded
/// tile of A and B is used twice. Rows of C are `c_bytes` apart.
static inline void multiply_tile_pairs(int k_tiles, TilePair a, TilePair b, float* c,
                                       int64_t c_bytes, bool accumulate) {
  float* c1 = c + 4 * c_bytes;  // 16 rows on, in floats
  if (accumulate) {
    _tile_loadd(0, c, c_bytes);
    _tile_loadd(1, c + 16, c_bytes);
    _tile_loadd(2, c1, c_bytes);
    _tile_loadd(3, c1 + 16, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int t = 0; t < k_tiles; ++t) {
    _tile_loadd(4, a.first, a.row_bytes);
    _tile_loadd(6, b.first, b.row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b.second, b.row_bytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a.second, a.row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    a.first += a.step, a.second += a.step;
    b.first += b.step, b.second += b.step;
  }
  _tile_stored(0, c, c_bytes);
  _tile_stored(1, c + 16, c_bytes);
  _tile_stored(2, c1, c_bytes);
  _tile_stored(3, c1 + 16, c_bytes);
}

}  // namespace longhaul::LH_ISA
#endif
