#pragma once
// Blocks of keys that a tile of rows sees because their mean is closest to its mean query
// (MInference's block-sparse pattern, arXiv:2407.02490).

#include <span>
#include <vector>

#include "ops/choose/select_rows.h"
#include "ops/choose/tile_grid.h"

namespace longhaul {

/// Rows whose tiles choose blocks.
struct TiledRows {
  View<const float> queries;  ///< [grid.rows, heads, head_dim], rotated
  int heads = 0;
  int head_dim = 0;
  TileGrid grid;
};

struct MeanBlocks {
  int head = 0;
  int64_t count = 0;  ///< blocks of a tile
  View<const float>
      means;           ///< [grid.blocks(), head_dim]: of the KV head's keys (ops/maps/mean_keys.h)
  View<uint8_t> seen;  ///< [grid.tiles(), grid.blocks()]: 1 where a tile sees a block
};

/// Memory of such a choice, of every thread; reused from call to call.
struct MeanBlockMemory {
  struct Worker {
    Array<float> query, scores;
    RowSelection selection;
  };
  std::vector<Worker> workers;
};

/// Writes the tasks' `seen` for tiles from that of row `first` on: of the blocks up to a tile's
/// own, the `count` with the largest product of means.
void choose_mean_blocks(Queue& queue, const TiledRows& rows, int64_t first,
                        std::span<const MeanBlocks> tasks, MeanBlockMemory& memory);

}  // namespace longhaul
