#pragma once
// The product behind linear() for many rows: y = x W^T, with W expanded panel by panel directly
// into the form that the kernels read. A GEMM library would need the whole expanded matrix in
// memory and would repack it on every call. Here weights move from the quantized file to the
// second-level cache.
//
// Both operands are cut into tiles of 16 rows (of x, or outputs of W) by `depth` columns. Weights
// are rounded to bf16 before they are packed. In this table s are scales, one for each row of a
// tile:
//
//   bf16   depth 32   x [16 rows][32]          W [16 pairs of k][16 outputs][2]
//   int16  depth 128  x [16 rows][128], s[16]  W [64 pairs of k][16 outputs][2], s[16]
//   int8   depth 64   x [16 rows][64], s[16]   W [16 quads of k][16 outputs][4], s[16], start[16]
//
// int16 numbers have 12 bits and a sign; int8 numbers have 7 bits and a sign. x in int8 is stored
// as q + 128, and start is -128 * (sum of an output's q). Tiles and blocks of sums are aligned to
// 64 bytes, and the strides between tiles are multiples of 64 bytes.

#include <cstddef>
#include <cstdint>

#include "base/float_types.h"
#include "ops/core/isa/per_isa.h"
#include "ops/core/swiglu.h"

namespace longhaul {

inline constexpr int kTileSide = 16;
inline constexpr int kBlockSide = 32;  ///< rows and columns of the block of sums that a kernel
                                       ///< computes at a time

struct PanelGemmKernels {
  int depth;            ///< columns of a tile; 0: the level has no such products
  int x_tile, w_tile;   ///< bytes of a tile
  const char* product;  ///< "bf16", "int16" or "int8"

  /// Packs 16 rows of x (missing ones null: zeros), k padded with zeros, to tiles [ceil(k /
  /// depth)].
  void (*pack_rows)(const float* const rows[16], int64_t k, std::byte* tiles);
  /// Packs 16 weight rows, each [k] bf16 at any alignment (missing ones null), to tiles.
  void (*pack_weights)(const bf16_t* const rows[16], int64_t k, std::byte* tiles);
  /// Computes C[32, 32] = x W^T, or adds x W^T to C, over `k` columns. Columns of the last tile
  /// past `k` are ignored. Reads two rows of tiles of x (x_stride bytes apart) and two of W
  /// (w_stride apart).
  void (*block)(int64_t k, const std::byte* x, int64_t x_stride, const std::byte* w,
                int64_t w_stride, float* c, bool accumulate);
  /// Writes the first `rows` rows and `outputs` columns of a block to y, with rows y_stride floats
  /// apart: y = C + bias, or y += C + bias. bias may be null.
  void (*write)(const float* c, int rows, int outputs, const float* bias, bool add, float* y,
                int64_t y_stride);
  /// Writes gated(gate, up) of `pairs` pairs of blocks (gate, up, gate, up, ...: all or the first
  /// columns of one tile) to two rows of tiles `tile_stride` bytes apart.
  void (*swiglu)(const Gating& gating, const float* blocks, int pairs, std::byte* tile,
                 int64_t tile_stride);
  /// Called before and after a series of block() calls on one thread.
  void (*begin)();
  void (*end)();
};

LH_PER_ISA(PanelGemmKernels, kBf16PanelGemm)
LH_PER_ISA(PanelGemmKernels, kInt16PanelGemm)
LH_PER_ISA(PanelGemmKernels, kInt8PanelGemm)

}  // namespace longhaul
