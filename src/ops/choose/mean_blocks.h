#pragma once
// Selects, for each tile of a query head, the blocks of keys whose mean key has the largest dot
// product with the tile's mean query (MInference's block-sparse pattern, arXiv:2407.02490). A tile
// is a group of adjacent query rows.

#include <span>
#include <vector>

#include "ops/choose/select_rows.h"
#include "ops/choose/tile_grid.h"

namespace longhaul {

/// The query rows of a prompt, which are divided into tiles.
struct TiledRows {
  View<const float> queries;  ///< [grid.rows, heads, head_dim], after RoPE
  int heads = 0;
  int head_dim = 0;
  TileGrid grid;

  bool lies_on(Place place) const { return queries.place() == place; }
};

struct MeanBlocks {
  int head = 0;
  int64_t count = 0;  ///< number of blocks that a tile sees
  /// [grid.blocks(), head_dim]: mean keys of the KV head (ops/maps/mean_keys.h).
  View<const float> means;
  View<uint8_t> seen;  ///< [grid.tiles(), grid.blocks()]: 1 if the tile sees the block, otherwise 0

  bool lies_on(Place place) const { return means.place() == place && seen.place() == place; }
};

/// Memory of each thread, which is reused between calls.
struct MeanBlockMemory {
  struct Worker {
    Array<float> query, scores;
    RowSelection selection;
  };
  std::vector<Worker> workers;
};

/// Writes the rows of the tasks' `seen` for the tile that contains row `first` and all later tiles.
/// A tile sees the `count` blocks with the largest dot products among its own block and the blocks
/// before it.
void choose_mean_blocks(Queue& queue, const TiledRows& rows, int64_t first,
                        std::span<const MeanBlocks> tasks, MeanBlockMemory& memory);
inline const DeviceOperation<bool(const TiledRows&, int64_t first, std::span<const MeanBlocks>)>
    kChooseMeanBlocks;

}  // namespace longhaul
