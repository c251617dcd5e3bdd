#pragma once
// Implements choose_mean_blocks() of ops/choose/mean_blocks.h on a CUDA device. All addresses are
// device addresses.

#include <cstdint>

#include "ops/choose/tile_grid.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

inline constexpr int kMostMeanDim = 1024;

/// A MeanBlocks (ops/choose/mean_blocks.h) with device addresses.
struct MeanBlocksTask {
  int64_t count = 0;
  const float* means = nullptr;  ///< [grid.blocks(), head_dim]
  uint8_t* seen = nullptr;       ///< [grid.tiles(), grid.blocks()]
  int head = 0;
};

/// Arguments for all tasks and for the tiles from `first_tile` on.
struct MeanBlocksCall {
  const float* queries = nullptr;  ///< [grid.rows, heads, head_dim]
  int heads = 0, head_dim = 0;     ///< head_dim is at most kMostMeanDim
  TileGrid grid;
  int64_t first_tile = 0;
  const MeanBlocksTask* tasks = nullptr;
  int task_count = 0;
  float* scores = nullptr;    ///< scratch memory [tasks, tiles, grid.blocks()]
  int32_t* chosen = nullptr;  ///< scratch memory [tasks, tiles, grid.blocks()]
};
void choose_mean_blocks(Stream stream, const MeanBlocksCall& call);

}  // namespace longhaul::cuda
