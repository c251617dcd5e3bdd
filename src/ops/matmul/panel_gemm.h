#pragma once
// The matrix product y = x W^T that linear() uses for many rows. One panel (range of outputs) of W
// at a time is converted directly to the form that the kernels read. A GEMM library would need the
// whole converted matrix in memory and would repack it in every call. Here, weights go from the
// quantized model file to the L2 cache.
//
// Both operands are split into tiles of 16 rows (of x, or outputs of W) and `depth` columns.
// Weights are rounded to bf16 before they are packed. In this table, s are the scales of the 16
// rows of a tile, and k are its columns:
//
//   bf16   depth 32   x [16 rows][32]          W [16 pairs of k][16 outputs][2]
//   int16  depth 128  x [16 rows][128], s[16]  W [64 pairs of k][16 outputs][2], s[16]
//   int8   depth 64   x [16 rows][64], s[16]   W [16 quads of k][16 outputs][4], s[16], start[16]
//
// An int16 number has 12 bits and a sign, and an int8 number has 7 bits and a sign. x in int8 is
// stored as q + 128, and start is -128 * (sum of q over an output's columns in the tile). Tiles and
// blocks of sums are aligned to 64 bytes. The distances between tiles are multiples of 64 bytes.

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
  int depth;            ///< columns of a tile; 0: this level has no such kernels
  int x_tile, w_tile;   ///< size of a tile of x, and of W, in bytes
  const char* product;  ///< number format: "bf16", "int16" or "int8"

  /// Packs 16 rows of x to tiles [ceil(k / depth)]. Rows whose pointer is null, and columns from k
  /// on, become zeros.
  void (*pack_rows)(const float* const rows[16], int64_t k, std::byte* tiles);
  /// Packs 16 weight rows of k bf16 each to tiles. Rows may have any alignment. Rows whose pointer
  /// is null become zeros.
  void (*pack_weights)(const bf16_t* const rows[16], int64_t k, std::byte* tiles);
  /// Computes C[32, 32] = x W^T over the first `k` columns, or adds the product to C if
  /// `accumulate` is true. Reads two rows of tiles of x, which begin x_stride bytes apart, and two
  /// of W, which begin w_stride bytes apart.
  void (*block)(int64_t k, const std::byte* x, int64_t x_stride, const std::byte* w,
                int64_t w_stride, float* c, bool accumulate);
  /// Writes the first `rows` rows and `outputs` columns of C + bias to y, or adds them to y if
  /// `add` is true. Rows of y begin y_stride floats apart. bias may be null.
  void (*write)(const float* c, int rows, int outputs, const float* bias, bool add, float* y,
                int64_t y_stride);
  /// Computes gated(gate, up) for `pairs` pairs of blocks of sums. `blocks` alternates between
  /// blocks of gate and of up. Writes rows 0 to 15 of the results to the tile at `tile`, and rows
  /// 16 to 31 to the tile that begins `tile_stride` bytes later. The results have 32 * pairs
  /// columns. Further columns of the tiles become zeros.
  void (*swiglu)(const Gating& gating, const float* blocks, int pairs, std::byte* tile,
                 int64_t tile_stride);
  /// begin() must be called before a series of block() calls on a thread, and end() after it.
  void (*begin)();
  void (*end)();
};

LH_PER_ISA(PanelGemmKernels, kBf16PanelGemm)
LH_PER_ISA(PanelGemmKernels, kInt16PanelGemm)
LH_PER_ISA(PanelGemmKernels, kInt8PanelGemm)

}  // namespace longhaul
