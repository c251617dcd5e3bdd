#pragma once
// Wrappers for AMX tile instructions. For *.isa.cc only.

#include <cstdint>

#if defined(__AMX_BF16__)
#include <immintrin.h>

/// Replacements for _tile_loadd and _tile_stored. The address sanitizer does not see the memory
/// accesses of these instructions. In sanitizer builds, the macros therefore check every row of the
/// tile first.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>

#define LH_LOAD_TILE(tile, from, row_bytes) \
  do {                                      \
    check_tile(tile, from, row_bytes);      \
    _tile_loadd(tile, from, row_bytes);     \
  } while (false)
#define LH_STORE_TILE(tile, to, row_bytes) \
  do {                                     \
    check_tile(tile, to, row_bytes);       \
    _tile_stored(tile, to, row_bytes);     \
  } while (false)
#else
#define LH_LOAD_TILE(tile, from, row_bytes) _tile_loadd(tile, from, row_bytes)
#define LH_STORE_TILE(tile, to, row_bytes) _tile_stored(tile, to, row_bytes)
#endif

namespace longhaul::LH_ISA {

/// Tile configuration (palette 1): eight tiles of 16 rows with 64 bytes each. It is a constant in
/// memory, because the compiler assumes that the instruction reads only its first bytes.
alignas(64) static const uint8_t kTileConfig[64] = {
    1,  0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 64, 0,  64, 0,  64, 0,  64, 0,
    64, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 0,  0, 16, 16, 16, 16, 16, 16, 16, 16};

static inline void load_tile_config() { _tile_loadconfig(kTileConfig); }

#if defined(__SANITIZE_ADDRESS__)
/// Checks the rows of a tile. If a byte is poisoned, this function reads it, which triggers the
/// sanitizer's report.
static inline void check_tile(int tile, const void* first, int64_t row_bytes) {
  // The current configuration has the bytes per row of tile t at [16 + 2 t] and its number of rows
  // at [48 + t].
  alignas(64) uint8_t config[64] = {};
  _tile_storeconfig(config);
  __asm__ volatile("" : : "r"(config) : "memory");  // tells the compiler that all of it was written
  const uint64_t bytes = config[16 + 2 * tile] | config[17 + 2 * tile] << 8;
  for (int row = 0; row < config[48 + tile]; ++row) {
    const void* wrong = __asan_region_is_poisoned((char*)first + row * row_bytes, bytes);
    if (wrong != nullptr) (void)*(const volatile char*)wrong;
  }
}
#endif

/// Two tiles of 16 rows each. Rows are `row_bytes` apart. The next pair along k begins `step`
/// elements further.
struct TilePair {
  const uint16_t* first;
  const uint16_t* second;
  int64_t row_bytes;
  int64_t step;
};

/// Computes C [32, 32] = A B, or adds A B to C if `accumulate` is true. k has k_tiles tiles of 32.
/// All four tiles of C are computed together, so each loaded tile of A and B is used twice. Rows of
/// C are `c_bytes` apart.
static inline void multiply_tile_pairs(int k_tiles, TilePair a, TilePair b, float* c,
                                       int64_t c_bytes, bool accumulate) {
  float* c1 = c + 4 * c_bytes;  // offset of 16 rows, in floats
  if (accumulate) {
    LH_LOAD_TILE(0, c, c_bytes);
    LH_LOAD_TILE(1, c + 16, c_bytes);
    LH_LOAD_TILE(2, c1, c_bytes);
    LH_LOAD_TILE(3, c1 + 16, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int t = 0; t < k_tiles; ++t) {
    LH_LOAD_TILE(4, a.first, a.row_bytes);
    LH_LOAD_TILE(6, b.first, b.row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    LH_LOAD_TILE(7, b.second, b.row_bytes);
    _tile_dpbf16ps(1, 4, 7);
    LH_LOAD_TILE(5, a.second, a.row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    a.first += a.step, a.second += a.step;
    b.first += b.step, b.second += b.step;
  }
  LH_STORE_TILE(0, c, c_bytes);
  LH_STORE_TILE(1, c + 16, c_bytes);
  LH_STORE_TILE(2, c1, c_bytes);
  LH_STORE_TILE(3, c1 + 16, c_bytes);
}

}  // namespace longhaul::LH_ISA
#endif
