// Force-included when llama.cpp is built with GCC 12 or older (see setup.sh).
// GCC's macro _tile_loadconfig declares a read of 8 bytes. The optimizer therefore drops the stores
// to the other 56 bytes of the tile configuration, ldtilecfg faults, and llama.cpp crashes in its
// first AMX product. This version declares all 64 bytes, so that the peer can run with AMX.
#if defined(__AMX_TILE__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ <= 12
#include <immintrin.h>
#undef _tile_loadconfig
#define _tile_loadconfig(config) \
  __asm__ volatile("ldtilecfg\t%X0" ::"m"(*reinterpret_cast<const char(*)[64]>(config)))
#endif
