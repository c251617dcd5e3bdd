#pragma once
// Selects the key blocks whose mean key has the largest dot product with the mean query of a tile
// (MInference's block-sparse pattern, arXiv:2407.02490). A tile is a group of adjacent query rows.

#include <span>
#include <vector>

#include "ops/choose/select_rows.h"
#include "ops/choose/tile_grid.h"

namespace longhaul {

/// Rows of a prompt that are divided into tiles.
struct TiledRows {
  View<const float> queries;  ///< [grid.rows, heads, head_dim], rotated
  int heads = 0;
  int head_dim = 0;
  TileGrid grid;

  bool lies_on(Place place) const { return queries.place() == place; }
};

struct MeanBlocks {
  int head = 0;
  int64_t count = 0;  ///< number of blocks per tile
  /// [grid.blocks(), head_dim]: mean keys of the KV head (ops/maps/mean_keys.h).
  View<const float> means;
  View<uint8_t> seen;  ///< [grid.tiles(), grid.blocks()]: 1 if a tile sees a block

  bool lies_on(Place place) const { return means.place() == place && seen.place() == place; }
};

/// Buffers of every thread, reused between calls.
struct MeanBlockMemory {
  struct Worker {
    Array<float> query, scores;
    RowSelection selection;
  };
  std::vector<Worker> workers;
};

/// Writes the tasks' `seen` for the tiles from that of row `first` on. A tile sees the `count`
/// blocks with the largest dot products among the blocks up to its own.
void choose_mean_blocks(Queue& queue, const TiledRows& rows, int64_t first,
                        std::span<const MeanBlocks> tasks, MeanBlockMemory& memory);
inline const DeviceOperation<bool(const TiledRows&, int64_t first, std::span<const MeanBlocks>)>
    kChooseMeanBlocks;

}  // namespace longhaul
