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

}  // namespace longhaul::LH_ISA
#endif
