#pragma once
// Wrappers for AMX tile instructions. Include this only in *.isa.cc files, which are compiled once
// per instruction set.

#include <cstdint>

#if defined(__AMX_BF16__)
#include <immintrin.h>

/// Replacements for _tile_loadd and _tile_stored. The address sanitizer does not see the memory
/// accesses of these instructions. In sanitizer builds, the macros therefore first check every row
/// of the tile.
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

/// Tile configuration (palette 1): eight tiles of 16 rows with 64 bytes each. It must be a
/// constant. If a function filled it, the compiler could drop writes, because it assumes that
/// _tile_loadconfig reads only the first bytes.
alignas(64) static const uint8_t kTileConfig[64] = {
    1,  0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 64, 0,  64, 0,  64, 0,  64, 0,
    64, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 0,  0, 16, 16, 16, 16, 16, 16, 16, 16};

static inline void load_tile_config() { _tile_loadconfig(kTileConfig); }

#if defined(__SANITIZE_ADDRESS__)
/// Checks the memory that a load or store of `tile` accesses. Rows begin at `first` and are
/// row_bytes apart. If a byte of a row is poisoned (marked as invalid by the sanitizer), this
/// function reads it, which triggers the sanitizer's report.
static inline void check_tile(int tile, const void* first, int64_t row_bytes) {
  // In a tile configuration, bytes [16 + 2 t] and the next one hold the bytes per row of tile t,
  // and byte [48 + t] holds its number of rows.
  alignas(64) uint8_t config[64] = {};
  _tile_storeconfig(config);
  __asm__ volatile(""
                   :
                   : "r"(config)
                   : "memory");  // the compiler must assume that the instruction
                                 // wrote all of `config`
  const uint64_t bytes = config[16 + 2 * tile] | config[17 + 2 * tile] << 8;
  for (int row = 0; row < config[48 + tile]; ++row) {
    const void* wrong = __asan_region_is_poisoned((char*)first + row * row_bytes, bytes);
    if (wrong != nullptr) (void)*(const volatile char*)wrong;
  }
}
#endif

/// Two tiles of 16 rows each, for one step of multiply_tile_pairs() along k. Consecutive rows begin
/// `row_bytes` apart. The pair of tiles for the next step begins `step` elements further.
struct TilePair {
  const uint16_t* first;
  const uint16_t* second;
  int64_t row_bytes;
  int64_t step;
};

/// Computes C [32, 32] = A B, or adds A B to C if `accumulate` is true. The depth k of the product
/// is 32 * k_tiles. `a` has rows 0 to 15 and 16 to 31 of A. `b` has columns 0 to 15 and 16 to 31 of
/// B, in the layout that _tile_dpbf16ps reads. All four tiles of C are computed together, so each
/// loaded tile of A and B is used twice. Consecutive rows of C begin `c_bytes` apart.
static inline void multiply_tile_pairs(int k_tiles, TilePair a, TilePair b, float* c,
                                       int64_t c_bytes, bool accumulate) {
  float* c1 = c + 4 * c_bytes;  // address of row 16: 16 rows of c_bytes / 4 floats
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
