#pragma once
// Selects the key blocks whose mean has the largest product with a tile's mean query (MInference's
// block-sparse pattern, arXiv:2407.02490).

#include <span>
#include <vector>

#include "ops/choose/select_rows.h"
#include "ops/choose/tile_grid.h"

namespace longhaul {

/// Rows whose tiles select blocks.
struct TiledRows {
  View<const float> queries;  ///< [grid.rows, heads, head_dim], rotated
  int heads = 0;
  int head_dim = 0;
  TileGrid grid;

  bool lies_on(Place place) const { return queries.place() == place; }
};

struct MeanBlocks {
  int head = 0;
  int64_t count = 0;  ///< blocks per tile
  /// [grid.blocks(), head_dim]: means of the KV head's keys (ops/maps/mean_keys.h)
  View<const float> means;
  View<uint8_t> seen;  ///< [grid.tiles(), grid.blocks()]: 1 if a tile sees a block

  bool lies_on(Place place) const { return means.place() == place && seen.place() == place; }
};

/// Memory of the selection for every thread, reused from call to call.
struct MeanBlockMemory {
  struct Worker {
    Array<float> query, scores;
    RowSelection selection;
  };
  std::vector<Worker> workers;
};

/// Writes the tasks' `seen` for tiles from that of row `first` on. Among the blocks up to a tile's
/// own, it marks the `count` with the largest product of means.
void choose_mean_blocks(Queue& queue, const TiledRows& rows, int64_t first,
                        std::span<const MeanBlocks> tasks, MeanBlockMemory& memory);
inline const DeviceOperation<bool(const TiledRows&, int64_t first, std::span<const MeanBlocks>)>
    kChooseMeanBlocks;

}  // namespace longhaul
