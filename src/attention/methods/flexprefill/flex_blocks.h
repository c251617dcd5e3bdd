#pragma once
// Selects the key blocks that each tile of query rows sees, as FlexPrefill does (arXiv:2502.20766).
// A tile is a group of adjacent query rows, and a block is a group of as many adjacent keys.
// Attention can be estimated from means: the mean query of some rows attends to the mean key of
// each block. For each query head, the estimate for the last rows is compared with their true
// attention, summed per block, by the Jensen-Shannon distance. If the distance is small, the head
// selects (tile, block) pairs: those with the highest estimated attention over all tiles, until
// they hold a given share of it. Otherwise the head selects columns (keys) and diagonals (distances
// between row and key) of the true attention of the last rows, until these hold the share.

#include <span>
#include <vector>

#include "ops/choose/mean_blocks.h"

namespace longhaul {

struct FlexRule {
  double mass = 0;      ///< share of the attention to select; infinity: everything
  double distance = 0;  ///< heads with a smaller Jensen-Shannon distance select pairs
  int64_t least = 0;    ///< minimum number of blocks per head for columns, and for diagonals
  float scale = 0;      ///< factor of the logits
  /// Number of last rows of the grid whose true attention is used.
  int last_rows = 0;
};

/// A query head. `columns` and `diagonals`, [keys] each, are sums of the last rows' attention per
/// key and per distance between row and key (ops/maps/line_sums.h).
struct FlexHead {
  int head = 0;
  View<const float> columns, diagonals;
  /// [grid.blocks(), head_dim]: mean keys of the blocks (ops/maps/mean_keys.h).
  View<const float> means;
  View<uint8_t> seen;  ///< result [grid.tiles(), grid.blocks()]: 1 if a tile sees a block
};

/// Buffers of every thread, reused between calls.
struct FlexMemory {
  struct Worker {
    Array<float> columns, diagonals;  ///< [keys]
    Array<float> column_bins, diagonal_bins, coarse;
    Array<float> query, pairs, sorted;
    RowSelection selection;
  };
  std::vector<Worker> workers;

  /// Returns the size in bytes of Worker::columns and Worker::diagonals of all threads. They are
  /// the largest part of the buffers.
  static size_t bytes_for(int64_t keys);
};

/// Selects blocks for every head and writes FlexHead::seen.
void choose_flex_blocks(Queue& queue, const TiledRows& rows, const FlexRule& rule,
                        std::span<const FlexHead> heads, FlexMemory& memory);
inline const DeviceOperation<bool(const TiledRows&, const FlexRule&, std::span<const FlexHead>)>
    kChooseFlexBlocks;

}  // namespace longhaul
