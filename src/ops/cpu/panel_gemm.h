#pragma once
// The bf16 product behind linear() for many rows: y = x W^T with W expanded panel by panel straight
// into the form that the matrix unit reads. A GEMM library would need the expanded matrix in memory
// first and repack it on every call; here it goes from the quantized file to the second-level
// cache.
//
// Both operands are cut into tiles of 16 x 32 elements, 1 KiB each and contiguous:
//   x tile [16 rows][32 k]; W tile [16 k pairs][16 outputs][2], k fastest-but-one.

#include <cstdint>

#include "base/float_types.h"
#include "ops/cpu/per_isa.h"

namespace longhaul {

inline constexpr int kTileSide = 16;
inline constexpr int kTileDepth = 32;
inline constexpr int kTileElements = kTileSide * kTileDepth;
inline constexpr int64_t kDepthTiles = 64;  ///< k tiles that are expanded and multiplied at a time

struct PanelGemmKernels {
  /// 16 rows of x (missing ones null: zeros), k padded with zeros, to tiles [k_tiles].
  void (*pack_rows)(const float* const rows[16], int64_t k, bf16_t* tiles);
  /// 16 weight rows, each [k] bf16 at any alignment (missing ones null), to tiles [k_tiles].
  void (*pack_weights)(const bf16_t* const rows[16], int64_t k, bf16_t* tiles);
  /// C[32, 32] = A B over k_tiles, or += : two row tiles a (a_stride elements apart), two output
  /// tiles b (b_stride apart).
  void (*block)(int k_tiles, const bf16_t* a, int64_t a_stride, const bf16_t* b, int64_t b_stride,
                float* c, bool accumulate);
  /// The live part of a block to y, rows y_stride apart: y = C + bias, or y += C + bias. bias may
  /// be null.
  void (*write)(const float* c, int rows, int outputs, const float* bias, bool add, float* y,
                int64_t y_stride);
  /// silu(gate) * up of two blocks, to two row tiles `tile_stride` elements apart.
  void (*swiglu)(const float* gate, const float* up, bf16_t* tile, int64_t tile_stride);
  /// Around a run of block() calls on one thread.
  void (*begin)();
  void (*end)();
};

/// Null functions where the level has no bf16 products.
LH_PER_ISA(PanelGemmKernels, kPanelGemmKernels)

}  // namespace longhaul
