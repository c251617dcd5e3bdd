#pragma once
// The matrix product y = x W^T that linear() uses for many rows. W is expanded panel by panel,
// directly into the form that the kernels read. A GEMM library would need the whole expanded matrix
// in memory and would repack it in every call. Here, weights move from the quantized file to the L2
// cache.
//
// Both operands are divided into tiles of 16 rows (of x, or outputs of W) and `depth` columns.
// Weights are rounded to bf16 before they are packed. In this table, s are the scales of the rows
// of a tile:
//
//   bf16   depth 32   x [16 rows][32]          W [16 pairs of k][16 outputs][2]
//   int16  depth 128  x [16 rows][128], s[16]  W [64 pairs of k][16 outputs][2], s[16]
//   int8   depth 64   x [16 rows][64], s[16]   W [16 quads of k][16 outputs][4], s[16], start[16]
//
// int16 numbers have 12 bits and a sign, and int8 numbers have 7 bits and a sign. x in int8 is
// stored as q + 128, and start is -128 * (sum of an output's q). Tiles and blocks of sums are
// aligned to 64 bytes, and the distances between tiles are multiples of 64 bytes.

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

  /// Packs 16 rows of x to tiles [ceil(k / depth)]. Null rows and columns beyond k become zeros.
  void (*pack_rows)(const float* const rows[16], int64_t k, std::byte* tiles);
  /// Packs 16 weight rows of k bf16 values each to tiles. Rows may have any alignment, and null
  /// rows become zeros.
  void (*pack_weights)(const bf16_t* const rows[16], int64_t k, std::byte* tiles);
  /// Computes C[32, 32] = x W^T over `k` columns, or adds the product to C if `accumulate` is true.
  /// Columns of the last tile beyond `k` are ignored. Reads two rows of tiles of x (x_stride bytes
  /// apart) and two of W (w_stride bytes apart).
  void (*block)(int64_t k, const std::byte* x, int64_t x_stride, const std::byte* w,
                int64_t w_stride, float* c, bool accumulate);
  /// Writes the first `rows` rows and `outputs` columns of C + bias to y, or adds them to y if
  /// `add` is true. Rows of y are y_stride floats apart. bias may be null.
  void (*write)(const float* c, int rows, int outputs, const float* bias, bool add, float* y,
                int64_t y_stride);
  /// Writes gated(gate, up) for `pairs` pairs of blocks to two rows of tiles that are `tile_stride`
  /// bytes apart. `blocks` alternates between gate and up. The result fills one tile, or only its
  /// first columns.
  void (*swiglu)(const Gating& gating, const float* blocks, int pairs, std::byte* tile,
                 int64_t tile_stride);
  /// These functions must be called before and after a series of block() calls on a thread.
  void (*begin)();
  void (*end)();
};

LH_PER_ISA(PanelGemmKernels, kBf16PanelGemm)
LH_PER_ISA(PanelGemmKernels, kInt16PanelGemm)
LH_PER_ISA(PanelGemmKernels, kInt8PanelGemm)

}  // namespace longhaul
