// Force-included when llama.cpp is built with GCC 12 or older (see setup.sh).
// There the macro _tile_loadconfig tells the compiler that it reads 8 bytes, so the optimizer drops
// the stores to the other 56 of the tile configuration and ldtilecfg faults: llama.cpp dies in its
// first AMX product. The whole 64 bytes are named here, which lets the peer run with AMX.
#if defined(__AMX_TILE__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ <= 12
#include <immintrin.h>
#undef _tile_loadconfig
#define _tile_loadconfig(config) \
  __asm__ volatile("ldtilecfg\t%X0" ::"m"(*reinterpret_cast<const char(*)[64]>(config)))
#endif
